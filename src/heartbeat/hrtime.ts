/** The clock that all threads of a process share. performance.now() begins anew in each. */

export function hrtimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** What to add to performance.now() of this thread to get it. */
export function clockMs(): number {
  return hrtimeMs() - performance.now()
}
