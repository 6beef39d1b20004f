/** A path that a page names, in a link or in plain text, is there: a file, a folder, or a file without its ending. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Pages leave out what is the same for all their paths. */
const FROM = ['', 'packages/holdfast', 'packages/holdfast/src', 'packages/holdfast/test', 'packages/holdfast-lab/src']
const TOP = 'packages|test|scripts|bench|examples|docs|conformance|contract|acquire|hold|kit|locks|stores|clients'
const PATH = new RegExp(`(?<![\\w/.:@-])(?:${TOP})/[\\w./-]*\\w`, 'g')
/** What the newcomer writes. */
const YOURS = /^(?:test\/examples\/mine\.test\.ts|examples\/mine\/.*)$/

function isThere(path: string): boolean {
  if (existsSync(path)) return true
  const folder = dirname(path)
  return existsSync(folder) && readdirSync(folder).some((name) => name.startsWith(basename(path)))
}

test('every path of the repository', () => {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)
  const pages = [...readdirSync(ROOT), ...docs].filter((name) => name.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(90)
  const missing = pages.flatMap((page) => {
    const homes = [...FROM, dirname(page)].map((folder) => join(ROOT, folder))
    const named = readFileSync(join(ROOT, page), 'utf8').match(PATH) ?? []
    return named
      .filter((path) => !(YOURS.test(path) || homes.some((home) => isThere(join(home, path)))))
      .map((path) => `${page}: ${path}`)
  })
  expect(missing).toEqual([])
})
