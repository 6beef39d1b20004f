/** How a store registers itself: every store's open.ts exports a StoreOpener, and stores/registry.ts lists them. */
import type { Driver } from '../../contract/driver.ts'
import type { HoldfastOptions } from '../../contract/options.ts'
import type { StoreUrl } from '../../store-url.ts'

export interface StoreOpener {
  /** The schemes of its URLs. */
  readonly schemes: readonly string[]
  /** What the query of its URLs may contain besides options of Holdfast. */
  readonly settings: readonly string[]
  /** Loads the store, and opens it. This file is loaded with the library; all other files of the store only now. */
  open(url: StoreUrl, options: HoldfastOptions): Promise<Driver>
  /** How to open the store with the user's own client, if the store accepts one. */
  readonly client?: ClientOpener
}

export interface ClientOpener {
  /** The clients that work, for an error that names them. */
  readonly works: string
  /** Whether the client certainly belongs to this store. UsageError: yes, but its version does not work. */
  recognises(client: unknown): boolean
  /** Opens the store as its own factory does. */
  open(client: unknown, options: HoldfastOptions): Promise<Driver>
}
