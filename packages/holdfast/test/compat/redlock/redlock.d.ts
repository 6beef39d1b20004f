/** The package redlock has types that its `exports` hide: the tests hold it to the types of ours. */
declare module 'redlock' {
  const Redlock: unknown
  export default Redlock
  export const ExecutionError: unknown
  export const ResourceLockedError: unknown
}
