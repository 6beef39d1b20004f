/** Milliseconds on CLOCK_MONOTONIC, which all processes of a host share: times of different processes may be compared. */
export function sharedNow() {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1_000 + nanos / 1e6
}
