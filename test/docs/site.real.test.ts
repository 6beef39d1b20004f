/**
 * The site of the documentation, built once: every link leads somewhere, every public name is explained, nothing comes
 * from the network, and the search finds what readers ask for, also in a real browser.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { browser } from '../../packages/holdfast-console/test/rig.ts'
import { type Hit, searchOf } from '../../scripts/docs/search.ts'
import { serve } from '../../scripts/docs/serve.ts'
import { buildSite, type Site } from '../../scripts/docs/site.ts'
import { QUESTIONS } from './asked.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

let folder: string
let site: Site
let search: (question: string) => Hit[]
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-site-'))
  site = await buildSite(ROOT, folder)
  search = searchOf(site.sections)
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every link leads somewhere, and every public name has a comment', () => {
  expect(site.faults).toEqual([])
})

test('what the pages of the site point at is there: pages, anchors, pictures, styles, scripts', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'))
  expect(files.length).toBeGreaterThan(100)
  const texts = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
  const anchors = new Map([...texts].map(([file, text]) => [file, new Set(text.match(/(?<= id=")[^"]+/g))]))
  const lost = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/ (?:href|src)="([^"]+)"/g)].flatMap(([, address = '']) => {
      if (/^(https?|mailto):/.test(address)) return []
      const [path = '', anchor = ''] = decodeURI(address).split('#')
      const target = path === '' ? file : posix.join(posix.dirname(file), path)
      const there = existsSync(join(folder, target)) && (anchor === '' || anchors.get(target)?.has(anchor) === true)
      return there ? [] : [`${file}: ${address}`]
    }),
  )
  expect(lost).toEqual([])
})

test('nothing is loaded from the network', () => {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(html|css)$/.test(name)) continue
    const text = readFileSync(join(folder, name), 'utf8')
    expect(text, name).not.toMatch(/<(?:script|img|link|source)[^>]* (?:src|href|srcset)="(?:https?:)?\/\//)
    if (name.endsWith('.css')) expect(text, name).not.toMatch(/url\(|@import/)
  }
})

test('every page of docs/ is in the navigation of its door', () => {
  for (const { url, door } of site.pages.filter((each) => each.door !== 'home')) {
    const shown = readFileSync(join(folder, url), 'utf8')
    expect(shown, `${url} of ${door}`).toMatch(/<a href="[^"]*" aria-current="page">/)
  }
})

test.each(QUESTIONS)('$question', ({ question, first }) => {
  expect(search(question)[0]?.url.replace(/\.html/, '')).toMatch(first)
})

test('in a browser: the search answers, pages fit a phone, and a theme that was chosen stays', async () => {
  await using served = await serve(folder)
  const chromium = await browser()
  try {
    const page = await chromium.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'light' })
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    page.on('request', (request) => {
      if (!request.url().startsWith(served.url)) errors.push(request.url())
    })
    await page.goto(served.url)
    for (const { question, first } of QUESTIONS) {
      await page.keyboard.press('Control+k')
      await page.fill('.finder input', question)
      const link = page.locator('.finder li.now a')
      await expect
        .poll(async () => (await link.getAttribute('href'))?.slice(served.url.length), { message: question })
        .toMatch(new RegExp(first.source.replace(/#/g, '\\.html#')))
      await page.keyboard.press('Escape')
    }
    await page.keyboard.press('Control+k')
    await page.fill('.finder input', 'HF_LOST')
    await page.locator('.finder li.now a').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/reference/errors.html#hf_lost')

    await page.click('[data-theme-switch]')
    for (const url of ['explain/architecture.html', 'reference/api/holdfast.html', 'zh/choosing.html', 'index.html']) {
      await page.goto(`${served.url}${url}`)
      expect(await page.evaluate('document.documentElement.dataset.theme'), url).toBe('dark')
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), url).toBe(0)
    }
    for (const { url } of site.pages) {
      await page.goto(`${served.url}${url}`, { waitUntil: 'domcontentloaded' })
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), url).toBe(0)
    }
    expect(errors).toEqual([])
  } finally {
    await chromium.close()
  }
})
