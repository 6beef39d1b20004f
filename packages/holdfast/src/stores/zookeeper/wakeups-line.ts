/** Wakes a listener whenever a line changes, by a watch on its children that is set again after each change. */
import { StoreUnreachableError } from '../../contract/errors.ts'
import type { Stop, Wake } from '../../contract/driver.ts'
import { isZooKeeperError, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'

const RETRY_MS = 200

export class LineWakeups {
  readonly #client: ZooKeeperClient
  readonly #path: string
  readonly #wake: Wake
  #stopped = false
  #retry: NodeJS.Timeout | null = null

  constructor(client: ZooKeeperClient, path: string, wake: Wake) {
    this.#client = client
    this.#path = path
    this.#wake = wake
  }

  /** In force once settled. */
  async start(): Promise<Stop> {
    await this.#arm()
    return () => {
      this.#stopped = true
      if (this.#retry !== null) clearTimeout(this.#retry)
      this.#client.unwatch(this.#path, this.#changed)
    }
  }

  async #arm(): Promise<void> {
    try {
      await this.#client.getChildren(this.#path, { watch: this.#changed })
    } catch (error) {
      if (!isZooKeeperError(error, 'NoNode')) throw error
      // There is no such line yet: wait for it. If it came between the two requests, ask for its children after all.
      const stat = await this.#client.exists(this.#path, { watch: this.#changed })
      if (stat === null) return
      this.#client.unwatch(this.#path, this.#changed)
      await this.#arm()
    }
  }

  readonly #changed = (): void => {
    if (this.#stopped) return
    // Wake only when the watch stands again: a listener that looks then misses nothing that comes after.
    void this.#again()
  }

  async #again(): Promise<void> {
    try {
      await this.#arm()
    } catch (error) {
      // No permission, or closed: there is nothing more to watch.
      if (this.#stopped || !(error instanceof StoreUnreachableError)) return
      this.#retry = setTimeout(this.#changed, RETRY_MS)
      this.#retry.unref()
      return
    }
    if (!this.#stopped) this.#wake()
  }
}
