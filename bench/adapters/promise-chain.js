/** The raw limit in one process: each holder waits for the promise of the one before. No queue, no ttl, no token. */

/** @type {import('../adapter.ts').Adapter} */
export const promiseChain = {
  name: 'promise-chain',
  store: 'memory',
  role: 'raw',
  renews: false,
  open() {
    /** @type {Map<string, Promise<unknown>>} */
    const tails = new Map()
    return {
      lock: (key) => ({
        acquire() {
          const before = tails.get(key)
          return new Promise((granted) => {
            const mine = new Promise((release) => {
              if (before === undefined) granted(release)
              else void before.then(() => granted(release))
            })
            tails.set(key, mine)
          })
        },
        release: (token) => /** @type {() => undefined} */ (token)(),
      }),
      close() {},
    }
  },
}
