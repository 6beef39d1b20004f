/** The herd on Redis: a release wakes all waiters, and all of them ask. */
import { redis } from 'holdfast/redis'
import type { Exhibit } from '../lab/exhibit.ts'
import { fixedKeyAct, lineAct } from '../lab/herd.ts'
import { Play } from '../lab/play.ts'

const TTL_MS = 60_000

export const herdRedis: Exhibit = {
  name: 'herd-redis',
  title: 'the herd on Redis: 50 wait, and every release wakes them all',
  recipe: 'SET lock value NX PX ttl; who fails subscribes to a channel; DEL lock and PUBLISH, and all try again',
  source: 'the usual way to wait for a Redis lock without asking all the time',
  lesson: 'Whoever is next is known: only that one need be told.',
  servers: ['redis'],
  kind: 'statistical',
  async run(stage) {
    const { url } = await stage.redis()
    const silent = new Play('', 'recipe', 'harm')
    const fixed = await fixedKeyAct(stage, 'one key and one channel', async (key) => {
      const hand = stage.hand('waiter', silent, url)
      let listener: (() => void) | null = null
      const hear = (): void => listener?.()
      return {
        async take(wake) {
          // Subscribe before the try, so that no message between the two is missed.
          if (listener === null) await hand.subscribe(`${key}:freed`, hear)
          listener = wake
          return hand.take(key, TTL_MS)
        },
        async free() {
          await hand.ask('DEL', key)
          await hand.ask('PUBLISH', `${key}:freed`, '1')
        },
      }
    })
    return [fixed, await lineAct(stage, () => Promise.resolve(redis(url)))]
  },
}
