/**
 * Fifty wait for one lock: how many wake-ups does it take until all have been served? With a fixed key, and with a
 * line.
 */
import type { Driver, Holdfast } from 'holdfast'
import type { Act } from './exhibit.ts'
import { Play } from './play.ts'
import type { Stage } from './stage.ts'

const WAITERS = 50
/** One wake-up for each release is what it takes; twice that is still no herd. */
const FINE = 2 * WAITERS
const LINE_TTL_MS = 60_000
/** So many are opened at a time, because a crowd at the start is not what is measured. */
const OPENING = 10

/** One client of the recipe: the lock is one key, and all waiters watch that key. */
export interface FixedKey {
  /** One try; if it fails, `wake` is called at the next release. */
  take(wake: () => void): Promise<boolean>
  free(): Promise<void>
}

export async function fixedKeyAct(stage: Stage, title: string, open: (key: string) => Promise<FixedKey>): Promise<Act> {
  const play = new Play(title, 'recipe', 'harm')
  const key = stage.fresh('herd')
  const clients = await several(WAITERS, () => open(key))
  const holder = await open(key)
  await holder.take(() => undefined)
  play.step('holder', 'takes it')
  const held = play.hold('holder')
  let wakeUps = 0
  let tries = 0
  let watching = 0
  let allWatch: () => void = () => undefined
  const barrier = new Promise<void>((resolve) => {
    allWatch = resolve
  })
  const visit = async (client: FixedKey, name: string): Promise<void> => {
    const waited = play.begin(name, 'wait')
    const bell = new Bell()
    let isServed = false
    const wake = (): void => {
      if (isServed) return
      wakeUps++
      bell.ring()
    }
    for (let round = 0; ; round++) {
      tries++
      if (await client.take(wake)) break
      if (round === 0 && ++watching === WAITERS) allWatch()
      await bell.rung()
    }
    isServed = true
    waited()
    // End the span before giving the lock back: the next client may have the lock before we hear of it.
    play.hold(name)()
    await client.free()
  }
  const visits = Promise.all(clients.map((client, i) => visit(client, `waiter ${i + 1}`)))
  await Promise.race([barrier, visits])
  play.step('holder', `gives it back; ${WAITERS} wait`)
  held()
  const began = play.ms
  await holder.free()
  await visits
  const told = `all ${WAITERS} were served after ${wakeUps} wake-ups and ${tries} tries`
  if (wakeUps > FINE) play.harm('holder', told)
  else play.step('holder', told)
  return play.end({
    harm: { name: 'wake-ups', value: wakeUps, fine: FINE },
    figures: [
      { name: 'wake-ups for each release', value: wakeUps / WAITERS },
      { name: 'tries', value: tries },
      { name: 'all served within', value: Math.round(play.ms - began), unit: 'ms' },
    ],
  })
}

export async function lineAct(stage: Stage, open: () => Promise<Driver>): Promise<Act> {
  const play = new Play('the same: everybody has a place, and the next one is told', 'holdfast', 'impossible')
  const line = stage.fresh('herd')
  let wakeUps = 0
  const clients = await several(WAITERS, async () => {
    const driver = counted(await open(), () => wakeUps++)
    return stage.holdfast(driver)
  })
  const first = await stage.holdfast(await open())
  const options = { ttlMs: LINE_TTL_MS, fairness: 'strict' } as const
  const head = await first.mutex(line, options).acquire()
  play.step('holder', 'acquire() → held')
  const held = play.hold('holder')
  let served = 0
  const visit = async (hf: Holdfast, name: string): Promise<void> => {
    const waited = play.begin(name, 'wait')
    const mine = await hf.mutex(line, options).acquire()
    waited()
    served++
    play.hold(name)()
    await mine.release()
  }
  const visits = Promise.all(clients.map((hf, i) => visit(hf, `waiter ${i + 1}`)))
  await Promise.race([crowded(first, line), visits])
  play.step('holder', `release(); ${WAITERS} wait`)
  held()
  const began = play.ms
  // Forget the wake-ups before this point: no release caused them.
  wakeUps = 0
  await head.release()
  await visits
  play.step('holder', `all ${served} were served after ${wakeUps} wake-ups`)
  return play.end({
    harm: { name: 'wake-ups', value: wakeUps, fine: FINE },
    figures: [
      { name: 'wake-ups for each release', value: wakeUps / WAITERS },
      { name: 'all served within', value: Math.round(play.ms - began), unit: 'ms' },
    ],
  })
}

/** The same driver; its wake-ups are counted. */
function counted(driver: Driver, onWake: () => void): Driver {
  const watch: Driver['watch'] = (line, id, wake) =>
    driver.watch(line, id, (push) => {
      onWake()
      wake(push)
    })
  return new Proxy(driver, {
    get(target, key) {
      if (key === 'watch') return watch
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function crowded(hf: Holdfast, line: string): Promise<void> {
  for (;;) {
    for await (const { name, waiters } of hf.list({ prefix: line }))
      if (name === line && waiters.length === WAITERS) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function several<T>(count: number, open: () => Promise<T>): Promise<T[]> {
  const opened: T[] = []
  while (opened.length < count) {
    const more = Math.min(OPENING, count - opened.length)
    opened.push(...(await Promise.all(Array.from({ length: more }, open))))
  }
  return opened
}

/** If it rings while nobody listens, the next listener hears all rings as one. */
class Bell {
  #isRung = false
  #listener: (() => void) | null = null

  ring(): void {
    this.#isRung = true
    this.#listener?.()
  }

  async rung(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#listener = resolve
      })
    }
    this.#isRung = false
    this.#listener = null
  }
}
