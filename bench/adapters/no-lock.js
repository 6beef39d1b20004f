/** For adapters that are made for scenarios without locks. */

/** @returns {never} */
export function noLock() {
  throw new Error('this is no lock')
}
