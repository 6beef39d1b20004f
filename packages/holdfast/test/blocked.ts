/** Stops this process as a long computation does: no timer runs and no socket is read until it is over. */
export function blockFor(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until) void 0
}
