/** Tells one expected system error from all others, so that only the expected one is swallowed. */

/** True if `error` is a system error with one of these codes, such as `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
