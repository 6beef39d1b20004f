/** Real processes at work on one server, undisturbed and in a storm: the cases for both servers. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { Crew, type Order } from './crew.ts'

export interface Stormy {
  url(): string
  /** The packages to work through. */
  readonly clients: readonly ('pg' | 'postgres' | undefined)[]
  /** The table `counted` with one row: id 1, n 0, version 0. */
  makeTable(): Promise<void>
  counted(): Promise<{ readonly n: number; readonly version: number; readonly cell: number }>
  terminate(): Promise<void>
  restart(): Promise<void>
}

const run = promisify(execFile)
const LINE = 'counted'

export function stormCases({ url, clients, makeTable, counted, terminate, restart }: Stormy): void {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-storm-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const order = (work: Order['work'], more: Partial<Order>): Order => ({
    work,
    url: url(),
    line: LINE,
    times: 5,
    mark: join(folder, 'inside'),
    clockMs: 0,
    ...more,
  })

  test('16 processes count in one cell and in one row of a table: no update is lost', async () => {
    await makeTable()
    const crew = await Crew.hire(Array.from({ length: 16 }, () => order('count', {})))
    try {
      await crew.go()
    } finally {
      await crew.dismiss()
    }
    expect(await counted()).toEqual({ n: 80, version: 80, cell: 80 })
  }, 120_000)

  test('a process that closes the store goes on behind it, and ends by itself', async () => {
    const index = new URL('../../../build/src/index.js', import.meta.url).href
    const code = `import { holdfast } from ${JSON.stringify(index)}
      const [a, b] = [await holdfast(process.argv[1]), await holdfast(process.argv[1])]
      const held = await a.mutex('closing').acquire()
      const next = b.mutex('closing').acquire()
      await held.release()
      await (await next).release()
      await a.close()
      await b.close()
      console.log('closed')`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code, url()])
    expect(stdout).toBe('closed\n')
  }, 60_000)

  test('the server is restarted, sessions are ended, clocks are wrong: one at a time, and tokens rise', async () => {
    const line = `storm ${randomBytes(6).toString('hex')}`
    const orders = clients.flatMap((client) =>
      [0, 86_400_000, -86_400_000].map((clockMs) =>
        order('visit', { line, clockMs, ...(client === undefined ? {} : { client }) }),
      ),
    )
    const crew = await Crew.hire(orders)
    try {
      const visits = crew.go<string[]>()
      // Awaited below; a failure before that must not count as unhandled.
      visits.catch(() => undefined)
      for (let i = 0; i < 3; i++) {
        await sleep(300)
        await terminate()
      }
      await restart()
      await sleep(300)
      await terminate()
      await sleep(700)
      crew.stop()
      const tokens = (await visits).map((its) => its.map(BigInt))
      for (const its of tokens) expect(its).toEqual(its.toSorted((a, b) => (a < b ? -1 : 1)))
      expect(new Set(tokens.flat()).size).toBe(tokens.flat().length)
      expect(tokens.flat().length).toBeGreaterThan(0)
    } finally {
      await crew.dismiss()
    }
  }, 120_000)
}
