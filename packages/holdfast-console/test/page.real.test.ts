/** The page in a real browser, on a real Redis. */
import axe from 'axe-core'
import { type Holdfast, holdfast } from 'holdfast'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { requireServers, skipped } from '../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import { Terminal, until } from '../../holdfast/test/cli/terminal.ts'
import { browser, type Site, site, TOKEN } from './rig.ts'

describe.skipIf(skipped('redis'))('the page', () => {
  const terminal = new Terminal()
  let bed: Testbed
  let server: Server
  let web: Browser
  let shown: Site
  let hf: Holdfast
  let page: Page
  const errors: string[] = []

  beforeAll(async () => {
    await requireServers(['redis'])
    web = await browser()
    bed = await testbed()
    server = await bed.redis()
    shown = await site(server.url)
  })

  afterAll(async () => {
    await shown?.[Symbol.asyncDispose]()
    await web?.close()
    await bed?.close()
  })

  afterEach(async () => {
    await page.context().close()
    await hf.close()
    expect(errors.splice(0)).toEqual([])
  })

  /** The page, opened anew by a person; `hf` is another user of the store. */
  async function open(path = '', options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    hf = await holdfast(server.url, { label: 'test', ttlMs: 20_000 })
    page = await (await web.newContext(options)).newPage()
    page.setDefaultTimeout(30_000)
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('console', (message) => {
      // What the tests do on purpose: a refused break, a store that is away.
      if (message.type() === 'error' && !message.text().includes('Failed to load resource')) errors.push(message.text())
    })
    await page.goto(shown.url + path)
    return page
  }

  const row = (name: string) => page.getByRole('row').filter({ hasText: name })

  test('shows locks with their holders, and what other processes do to them', async () => {
    await open()
    const held = await hf.mutex('stock:1', { label: 'checkout' }).acquire()
    await row('stock:1').getByText('checkout').waitFor()
    await row('stock:1').getByText(`:${process.pid}`).waitFor()
    await row('stock:1').getByText(String(held.token).slice(-8)).waitFor()
    expect(await row('stock:1').locator('.lease-fill').count()).toBe(1)

    const other = terminal.start(['run', 'stock:1', '--store', server.url, '--', 'sleep', '60'])
    await row('stock:1').locator('.badge', { hasText: '1' }).waitFor()
    await row('stock:1').getByRole('link').click()
    await page.getByRole('grid', { name: /queue/ }).getByText(`:${other.pid}`).waitFor()
    await held.release()
    await page.locator('.events').getByText('handed over').waitFor()
    await page.locator('.holders').getByText(String(other.pid)).first().waitFor()
    other.kill('SIGTERM')
    await page.getByText('Nobody holds it, nobody waits.').waitFor()
    expect(await page.locator('.timeline rect').count()).toBeGreaterThanOrEqual(2)
  })

  test('a lease that is not renewed is told as a loss', async () => {
    await open()
    await hf.mutex('dead', { ttlMs: 1_000, renew: false }).acquire()
    await page.locator('.events li', { hasText: 'ran out' }).filter({ hasText: 'dead' }).waitFor()
  })

  test('breaks a lock only with the token, safely first, and leaves a line of each try', async () => {
    await open('#/lock/broken')
    const held = await hf.mutex('broken').acquire()
    shown.audit.length = 0
    await page.getByRole('button', { name: 'Break …' }).click()
    expect(await page.getByRole('radio', { name: /Let the lease run out/ }).isChecked()).toBe(true)
    expect(await page.getByRole('radio', { name: /Break now/ }).isVisible()).toBe(false)
    await page.getByLabel('Token').fill('not-the-right-token')
    await page.getByRole('button', { name: 'Break', exact: true }).click()
    await page.getByText('Wrong token').waitFor()
    expect(held.state).toBe('held')

    await page.getByLabel('Token').fill(TOKEN)
    await page.getByRole('button', { name: 'Break', exact: true }).click()
    await page.getByText('Taken from 1 holder.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByText('broken, runs out').waitFor()
    await expect.poll(() => held.state).toBe('lost')
    expect(shown.audit).toMatchObject([
      { action: 'break', lock: 'broken', now: false, broken: null, error: expect.stringContaining('Wrong token') },
      { action: 'break', lock: 'broken', now: false, broken: 1, error: '', from: '127.0.0.1' },
    ])
  })

  test('draws those who wait in a circle', async () => {
    await open()
    const both = [
      ['left', 'right'],
      ['right', 'left'],
    ] as const
    const users = await Promise.all(both.map(() => holdfast(server.url, { ttlMs: 20_000 })))
    let held = 0
    const waits = both.map(async ([first, second], i) => {
      const user = users[i] as Holdfast
      await user.mutex(first).using(async () => {
        held++
        await until('both hold one', () => held === both.length)
        await user.mutex(second).using(() => {})
      })
    })
    await page.getByRole('heading', { name: 'Deadlock' }).waitFor()
    expect(await page.locator('.circle .node').count()).toBe(2)
    const ends = Promise.allSettled(waits)
    await Promise.all(users.map((user) => user.close()))
    await ends
    await page.getByRole('heading', { name: 'Deadlock' }).waitFor({ state: 'detached' })
  })

  test('lists limiters that processes report, with what is left, and jobs with their last runs', async () => {
    await open()
    await using user = await holdfast(server.url, { report: true, label: 'api' })
    const limiter = user.limiter('api', { limit: 3, perMs: 3_600_000 })
    for (const key of ['alice', 'alice', 'alice', 'alice', 'bob']) await limiter.take(key)
    const key = (name: string) => page.locator('.limits li', { hasText: name })
    await key('alice').getByText('0 of 3 left').waitFor()
    await key('bob').getByText('2 of 3 left').waitFor()
    await key('bob').getByText('5 asked, 1 refused').waitFor()
    for (const name of ['c', 'd', 'e', '<b>f']) await limiter.take(name)
    await key('<b>f').waitFor()
    await page.getByLabel('Limiters or keys that begin with').fill('al')
    await key('bob').waitFor({ state: 'detached' })
    expect(await page.locator('.limits li').count()).toBe(1)

    const job = user.job('nightly')
    const runs = page.locator('.runs i')
    const now = Date.now()
    const options = { rerun: false, untilMs: now + 60_000, waitMs: 0 }
    await job.attempt(now, options, () => 'done')
    await page.getByText('nightly', { exact: true }).waitFor()
    const fail = (): never => {
      throw new Error('no disk')
    }
    await job.attempt(now + 1, options, fail).catch(() => null)
    await expect.poll(() => runs.evaluateAll((all) => all.map(({ className }) => className))).toEqual(['ok', 'failed'])
  })

  test('says that the store is out of reach, and that it is back', async () => {
    await open()
    await page.getByText('Live · every').waitFor()
    await server.stop()
    await page.getByText('The store is out of reach for').waitFor()
    await server.start()
    await page.getByText('Live · every').waitFor()
    expect(await page.getByRole('alert').first().isVisible()).toBe(false)
    await page.locator('.events').getByText('store back').first().waitFor()
  })

  test('a name is text, whatever stands in it', async () => {
    await open()
    const names = [
      '<script>window.hurt = 1</script>',
      '<img src=x onerror="window.hurt = 1">',
      'pay\u202Egnp.exe',
      '../../x',
    ]
    for (const name of names) await hf.mutex(name, { label: '<b>bold</b>' }).acquire()
    await row('<script>window.hurt').waitFor()
    await row('U+202E').waitFor()
    await row('<img src=x').getByRole('link').click()
    await page.getByRole('heading', { name: names[1] as string }).waitFor()
    await page.locator('.holder-name').getByText('<b>bold</b>').waitFor()
    expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false)
  })

  test('everything can be done by keyboard', async () => {
    await open()
    for (const name of ['keys:a', 'keys:b', 'keys:c']) await hf.mutex(name).acquire()
    await row('keys:c').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('keys:')
    await page.getByText('3 locks').waitFor()
    const isGrid = (): Promise<boolean> => page.evaluate('document.activeElement?.getAttribute("role") === "grid"')
    for (let i = 0; i < 5 && !(await isGrid()); i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'keys:b' }).waitFor()
    // The page moves the focus once the heading is drawn.
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('H1')
    const isBreak = (): Promise<boolean> => page.evaluate('document.activeElement?.textContent === "Break …"')
    await page.getByRole('button', { name: 'Break …' }).waitFor()
    for (let i = 0; i < 5 && !(await isBreak()); i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await page.getByText('3 locks').waitFor()
  })

  test.each(['light', 'dark'] as const)('axe finds nothing serious, %s', async (colorScheme) => {
    await open('', { colorScheme, bypassCSP: true })
    await hf.mutex('seen', { label: 'axe' }).acquire()
    const waiting = hf.mutex('seen', { fairness: 'strict', reentrant: false }).acquire()
    const waited = waiting.catch(() => null)
    await row('seen').locator('.badge').waitFor()
    expect(await serious()).toEqual([])
    await row('seen').getByRole('link').click()
    await page.getByRole('button', { name: 'Break …' }).click()
    expect(await serious()).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await serious()).toEqual([])
    await hf.close()
    await waited
  })

  /** What axe calls serious or critical. */
  async function serious(): Promise<string[]> {
    await page.evaluate(axe.source)
    return page.evaluate(`axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes[0].html))`)
  }

  test('fits a phone', async () => {
    await open('', { viewport: { width: 390, height: 844 } })
    await hf.mutex(`phone:${'x'.repeat(200)}`, { ttlMs: 600_000 }).acquire()
    await row('phone:').waitFor()
    await row('phone:').locator('.lease-left', { hasText: 'm' }).waitFor()
    const outside = `[...document.querySelectorAll('.grid-body .lease-left')].filter((left) => {
      const text = document.createRange()
      text.selectNodeContents(left)
      return text.getBoundingClientRect().right > left.closest('.c-lease').getBoundingClientRect().right + 1
    }).map((left) => left.textContent)`
    expect(await page.evaluate(outside)).toEqual([])
    const overflow = 'document.documentElement.scrollWidth - innerWidth'
    expect(await page.evaluate(overflow)).toBe(0)
    await page.getByRole('button', { name: 'Activity' }).click()
    await page.getByText('Over time').waitFor()
    expect(await row('phone:').isVisible()).toBe(false)
    expect(await page.evaluate(overflow)).toBe(0)
    await page.getByRole('button', { name: 'Locks', exact: true }).click()
    await row('phone:').getByRole('link').click()
    await page.getByRole('heading', { name: /phone/ }).waitFor()
    expect(await page.evaluate(overflow)).toBe(0)
  })
})
