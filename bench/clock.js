/** The clocks of the bench. */

/**
 * Milliseconds on CLOCK_MONOTONIC, which all processes of a host share: times of different processes may be compared.
 */
export function sharedNow() {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1_000 + nanos / 1e6
}

/**
 * Milliseconds of CPU that this process has used. A loop that never waits is warmed up and measured for so much work,
 * not for so much time: on a machine that others use, 100 ms may be too little to compile anything.
 */
export function busyNow() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
