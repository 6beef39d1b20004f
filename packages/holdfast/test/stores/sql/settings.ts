/** A user's own pool, with settings of its sessions and readers of values that are the user's: the cases for both. */
import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import type { Driver } from '../../../src/contract/driver.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'

/** What the pool is told, by the name of the case. */
export type Pools = Readonly<Record<string, () => { readonly driver: Driver; close(): Promise<unknown> }>>

/** `plain`: another process, whose connections are as the server gives them. */
export function settingsCases(plain: () => Driver, pools: Pools): void {
  const open: { close(): Promise<unknown> }[] = []
  afterEach(async () => {
    for (const closing of open.splice(0).toReversed()) await closing.close()
  })
  async function on(driver: Driver): Promise<Holdfast> {
    const hf = await holdfast(driver, { ttlMs: 60_000 })
    open.push(hf)
    return hf
  }

  test.each(Object.keys(pools))('%s: alone and together a line is one line; waiters are served', async (key) => {
    const pool = (pools[key] as Pools[string])()
    open.push(pool)
    const [mine, theirs] = [await on(pool.driver), await on(plain())]
    const own = randomBytes(6).toString('hex')
    const groups = [[`alone ${own}`], ['a', 'b\\x62', "c'", '{"d",}', 'ü'].map((name) => `${name} ${own}`)]
    // New lines; lines that are known and free; and again.
    for (const names of [...groups, ...groups, ...groups]) {
      const held = await Promise.all(names.map((name) => mine.mutex(name).acquire()))
      expect(await Promise.all(names.map((name) => theirs.mutex(name).tryAcquire()))).toEqual(names.map(() => null))
      const seen = new Set<string>()
      for await (const { name, holders } of mine.list()) if (holders.length === 1) seen.add(name)
      expect(names.filter((name) => !seen.has(name))).toEqual([])
      const waiting = names.map((name) => theirs.mutex(name).acquire())
      expect(await Promise.all(held.map((hold) => hold.release()))).toEqual(names.map(() => true))
      // One after another, and all in one turn.
      for (const next of await Promise.all(waiting)) expect(await next.release()).toBe(true)
      expect(await mine.all(names.map((name) => mine.mutex(name))).using(() => 'done')).toBe('done')
    }
    const cell = mine.cell(own)
    await cell.update(() => 'set')
    expect((await theirs.cell(own).read())?.value).toBe('set')
  })
}
