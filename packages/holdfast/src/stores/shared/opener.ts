/** How a store registers itself: every store's open.ts exports one of these, and stores/registry.ts lists them. */
import type { Driver } from '../../contract/driver.ts'
import type { HoldfastOptions } from '../../contract/options.ts'
import type { StoreUrl } from '../../store-url.ts'

export interface StoreOpener {
  /** What its URLs may begin with. */
  readonly schemes: readonly string[]
  /** What the query of its URLs may hold besides options of Holdfast. */
  readonly settings: readonly string[]
  /** Loads the store, and opens it: this file is loaded with the library, all others of the store only now. */
  open(url: StoreUrl, options: HoldfastOptions): Promise<Driver>
  /** How it takes a client that its user has already, if it does. */
  readonly client?: ClientOpener
}

export interface ClientOpener {
  /** The clients that work, for an error that says so. */
  readonly works: string
  /** Whether a client is certainly one of this store's. UsageError: it is, and of a version that does not work. */
  recognises(client: unknown): boolean
  /** As the store's own factory does it. */
  open(client: unknown, options: HoldfastOptions): Promise<Driver>
}
