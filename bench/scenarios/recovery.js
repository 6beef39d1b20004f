/** A holder is killed, or stopped without a word: how long until the next one has the lock. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedNow } from '../clock.js'
import { Crew } from '../crew.js'
import { quantile } from '../stats.js'

const KEY = 'bench:recovery'

/** @typedef {{ name: string, signal: NodeJS.Signals, ttlMs: number, samples: number }} Case */

/** With this ttl the store notices a death before the lease has run out. @type {Case} */
const NOTICED = { name: 'killed, ttl 60 s', signal: 'SIGKILL', ttlMs: 60_000, samples: 4 }
/** @type {Case} */
const LAPSED = { name: 'killed, ttl 3 s', signal: 'SIGKILL', ttlMs: 3_000, samples: 1 }
/** @type {Case} */
const STOPPED = { name: 'stopped, ttl 3 s', signal: 'SIGSTOP', ttlMs: 3_000, samples: 1 }

/** @type {import('../scenario.ts').Scenario} */
export const recovery = {
  name: 'recovery',
  title: 'A holder is gone: time until the next one holds',
  // Five rounds of four kills; a lease takes its time to lapse.
  rounds: (rounds) => Math.min(rounds, 5),
  suits: (adapter, { store }) => store.scope !== 'process' && adapter.recovers !== false,
  metrics: [{ key: 'recoveryMs', title: 'ms', better: 'less' }],
  async run(adapter, { store }) {
    /** @type {import('../scenario.ts').Round} */
    const round = {}
    // Across a network nobody can see a process die: there, the lease is what ends it.
    const killed = store.scope === 'host' && adapter.noticesDeath === true ? NOTICED : LAPSED
    for (const { name, signal, ttlMs, samples } of [killed, STOPPED]) {
      const times = await Crew.with(adapter, store, { ttlMs, counting: false }, async (crew) => {
        const taker = await crew.hire()
        const times = []
        for (let i = 0; i < samples; i++) {
          const holder = await crew.hire()
          await holder.perform('recovery.hold', { key: KEY })
          const taken = taker.perform('recovery.take', { key: KEY })
          // Long enough to be waiting, and another phase of the holder's heartbeat each time.
          await sleep(200 + Math.random() * 300)
          const goneAt = sharedNow()
          holder.kill(signal)
          times.push((await taken) - goneAt)
          await crew.dismiss(holder)
        }
        return times
      })
      round[name] = { recoveryMs: quantile(times, 0.5) }
    }
    return round
  },
}
