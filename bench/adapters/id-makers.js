/** The peers for ids: none of them leases its worker id, so they are measured in one process. */
import { load } from '../load.js'
import { noLock } from './no-lock.js'

/** @typedef {import('../adapter.ts').Adapter} Adapter */

/**
 * @param {string} name
 * @param {string} pkg
 * @param {() => Promise<import('../adapter.ts').IdMaker>} make
 * @returns {Adapter}
 */
function peer(name, pkg, make) {
  return {
    name,
    store: 'memory',
    role: 'peer',
    packages: [pkg],
    only: ['ids'],
    open: () => ({ lock: noLock, ids: make, close() {} }),
  }
}

/** Never waits: after 4 096 ids in a millisecond it repeats ids. */
export const sapphire = peer('sapphire-snowflake', '@sapphire/snowflake', async () => {
  /** @type {{ Snowflake: new (epoch: number) => { generate(): bigint } }} */
  const { Snowflake } = await load('@sapphire/snowflake')
  const snowflake = new Snowflake(1_704_067_200_000)
  return { next: () => snowflake.generate(), wait: async () => snowflake.generate() }
})

/** Throws after 4 096 ids in a millisecond; with a callback it waits. */
export const flake = peer('flake-idgen', 'flake-idgen', async () => {
  /** @type {{ default: new () => { next(callback?: (error: Error | null, id: Buffer) => void): Buffer } }} */
  const { default: Flake } = await load('flake-idgen')
  const flake = new Flake()
  return {
    next() {
      try {
        return flake.next()
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('Sequence exceeded')) return null
        throw error
      }
    },
    wait: () => new Promise((resolve, reject) => flake.next((error, id) => (error ? reject(error) : resolve(id)))),
  }
})

export const uuidV7 = peer('uuid-v7', 'uuid', async () => {
  /** @type {{ v7: () => string }} */
  const { v7 } = await load('uuid')
  return { next: () => v7(), wait: async () => v7() }
})
