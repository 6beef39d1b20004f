/** The Chinese pages can't drift from the English ones: each names its counterpart, and has the same code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXHIBITS } from '../../packages/holdfast-lab/src/lab/catalogue.ts'

const ROOT = new URL('../../', import.meta.url)
const pages = [
  'README.zh-CN.md',
  ...readdirSync(new URL('docs/zh/', ROOT), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/zh/${name}`),
]
/** A walk through texts that are Chinese themselves. */
const CHINESE_ONLY = ['docs/zh/five-texts.md']
const translated = pages.filter((page) => !CHINESE_ONLY.includes(page))

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const links = (text: string): string[] =>
  [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string).filter((link) => !link.includes(':'))

function counterpart(page: string): string {
  const link = /^\[English\]\(([^)]+)\)/m.exec(read(page))?.[1]
  expect(link, `${page} has no line that begins with [English](...)`).toBeDefined()
  return new URL(link as string, `file:///${page}`).pathname.slice(1)
}

/** Blocks of code, without comments: those are in the reader's language. */
function blocks(path: string): string[] {
  return [...read(path).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => {
    const lines = code.split('\n').map((line) => line.replace(/(^|\s)(\/\/|#)\s.*$/, '').trimEnd())
    return `${language}\n${lines.filter((line) => line !== '').join('\n')}`
  })
}

test('each Chinese page has its English counterpart, with the same code', () => {
  expect(translated.length).toBeGreaterThan(15)
  for (const page of translated) {
    const english = counterpart(page)
    expect(existsSync(new URL(english, ROOT)), `${page} names ${english}`).toBe(true)
    expect(blocks(page), page).toEqual(blocks(english))
  }
  expect(blocks('README.zh-CN.md').length).toBeGreaterThan(2)
})

test('the doors Start and How to are as wide in Chinese', () => {
  for (const door of ['start', 'how-to']) {
    const english = readdirSync(new URL(`docs/${door}/`, ROOT)).sort()
    expect(readdirSync(new URL(`docs/zh/${door}/`, ROOT)).sort()).toEqual(english)
    for (const name of english.filter((each) => each !== 'index.md'))
      expect(read('docs/zh/start/index.md')).toContain(`](${door === 'start' ? name : `../how-to/${name}`})`)
  }
})

test('the glossary has the words of the five texts', () => {
  const glossary = read('docs/zh/glossary.md')
  for (const word of ['分布式锁', '锁续期', '看门狗', '可重入', '惊群', '脑裂', '红锁'])
    expect(glossary).toContain(word)
})

test('the walk through the five texts names exhibits that can be run', () => {
  const named = [...read('docs/zh/five-texts.md').matchAll(/holdfast lab ([a-z-]+)|\| `([a-z]+(?:-[a-z]+)+)` +\|/g)]
  const names = named.map((match) => match[1] ?? match[2])
  // Twenty, as its title says: none is left out, and none is invented.
  expect(new Set(names)).toEqual(new Set(EXHIBITS.map((exhibit) => exhibit.name)))
})

test('what a Chinese page points at is there', () => {
  for (const page of pages) {
    for (const link of links(read(page)))
      expect(existsSync(new URL(link, new URL(page, ROOT))), `${page}: ${link}`).toBe(true)
  }
})

test('the README leads to the Chinese one', () => {
  expect(read('README.md')).toContain('](README.zh-CN.md)')
})
