/** What the primitives of one instance must do before the instance closes. */
export type Closers = Set<() => void | Promise<void>>
