/** What the primitives of one instance want to do before it closes. */
export type Closers = Set<() => void | Promise<void>>
