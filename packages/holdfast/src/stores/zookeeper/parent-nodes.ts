/**
 * The nodes above places and cells. They nearly always exist, so they are created only when a request finds one
 * missing.
 */
import { type Acl, isZooKeeperError, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'

/** How often to try a request whose parent vanishes meanwhile: servers remove containers while they are empty. */
const TRIES = 5

export class ParentNodes {
  readonly acl: readonly Acl[]
  readonly #containers: boolean

  /** `containers`: the nodes above a line go with the line when they are empty. */
  constructor(acl: readonly Acl[], containers: boolean) {
    this.acl = acl
    this.#containers = containers
  }

  /** Runs a request on a child of `parent`; creates the parent if it is missing, and tries again. */
  async on<T>(client: ZooKeeperClient, parent: string, request: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await request()
      } catch (error) {
        if (!isZooKeeperError(error, 'NoNode') || tries === TRIES) throw error
      }
      await this.make(client, parent, 'container')
    }
  }

  /** Creates a node and all above it. */
  async make(client: ZooKeeperClient, path: string, mode: 'container' | 'persistent'): Promise<void> {
    if (path === '/') return client.ensureChroot()
    const above = path.slice(0, path.lastIndexOf('/')) || '/'
    for (let tries = 1; ; tries++) {
      try {
        await client.create(path, undefined, { mode, acl: this.acl })
        return
      } catch (error) {
        if (isZooKeeperError(error, 'NodeExists')) return
        if (!isZooKeeperError(error, 'NoNode') || tries === TRIES) throw error
      }
      await this.make(client, above, this.#containers ? 'container' : 'persistent')
    }
  }
}
