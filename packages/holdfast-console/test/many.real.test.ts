/** Ten thousand locks and a thousand waiters: what the console asks of Redis, and what the page draws. */
import { holdfast } from 'holdfast'
import { Connection, parseRedisUrl } from 'holdfast/internal'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers, skipped } from '../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import type { All } from '../src/wire.ts'
import { browser, site } from './rig.ts'

const LOCKS = 10_000
const WAITERS = 1_000
const COMMANDS_PER_SECOND = 5

describe.skipIf(skipped('redis'))('many locks', () => {
  let bed: Testbed
  let web: Browser

  beforeAll(async () => {
    await requireServers(['redis'])
    bed = await testbed()
    web = await browser()
  })

  afterAll(async () => {
    await web?.close()
    await bed?.close()
  })

  test('cost at most five commands a second, and the page stays small', async () => {
    const server = await bed.redis()
    await using hf = await holdfast(server.url, { ttlMs: 600_000, label: 'crowd' })
    await Promise.all(Array.from({ length: LOCKS }, (_, i) => hf.mutex(`many:${i}`).acquire()))
    const hot = hf.mutex('many:7', { fairness: 'strict', reentrant: false })
    const waits = Promise.allSettled(Array.from({ length: WAITERS }, () => hot.acquire()))

    const asked = await commandsOf(server.url)
    await using shown = await site(server.url, { pollMs: 1_000 })
    const { everyMs } = await firstLook(shown.url)
    const cost = (await commandsOf(server.url)) - asked
    expect(cost).toBeGreaterThan(0)
    expect(cost / (everyMs / 1_000)).toBeLessThanOrEqual(COMMANDS_PER_SECOND)

    const page = await web.newPage()
    page.setDefaultTimeout(30_000)
    await page.goto(shown.url)
    await page.getByText('10,000 locks').waitFor()
    const top = page.locator('.grid-body .row').first()
    expect(await top.locator('.badge').textContent()).toBe('1,000')
    expect(await page.locator('.grid-body .row').count()).toBeLessThan(100)
    await page.getByRole('grid').focus()
    await page.keyboard.press('End')
    await page.locator(`#row-${LOCKS - 1}`).waitFor()
    await page.getByRole('searchbox').fill('many:123')
    await page.getByText('11 locks').waitFor()
    await page.goto(`${shown.url}#/lock/many%3A7`)
    const queue = page.getByRole('grid', { name: /queue/ })
    await queue.focus()
    await page.keyboard.press('End')
    await page.locator(`#waiter-${WAITERS - 1}`).waitFor()
    expect(await queue.locator('.row').count()).toBeLessThan(100)
    await hf.close()
    await waits
  })

  test('the next look waits as long as it says', async () => {
    const server = await bed.redis()
    await using hf = await holdfast(server.url, { ttlMs: 600_000 })
    for (let i = 0; i < 20; i++) await hf.mutex(`few:${i}`).acquire()
    await using shown = await site(server.url, { pollMs: 1_000 })
    await firstLook(shown.url)
    const [asked, startedMs] = [await commandsOf(server.url), performance.now()]
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    const seconds = (performance.now() - startedMs) / 1_000
    const cost = (await commandsOf(server.url)) - asked
    expect(cost).toBeGreaterThan(2)
    expect(cost / seconds).toBeLessThanOrEqual(COMMANDS_PER_SECOND)
  })
})

/** Requests that clients have made for looking: what a script calls inside the server is part of its own request. */
async function commandsOf(url: string): Promise<number> {
  const connection = new Connection(parseRedisUrl(url))
  try {
    const text = (await connection.command(['INFO', 'commandstats'])) as string
    const counts = [...text.matchAll(/^cmdstat_(?:scan|evalsha|eval):calls=(\d+)/gm)]
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0)
  } finally {
    await connection.close()
  }
}

/** What the stream says after the first look at the store. */
async function firstLook(url: string): Promise<All> {
  const answer = await fetch(`${url}api/stream`)
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    if (done) throw new Error('the stream has ended')
    text += value
    for (const [, data = ''] of text.matchAll(/^data: (.*)\n\n/gm)) {
      const message = JSON.parse(data) as All
      if (message.store.state !== 'up') continue
      await reader.cancel()
      return message
    }
  }
}
