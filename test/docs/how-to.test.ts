/** The pages of docs/how-to point at what is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const HOW_TO = new URL('../../docs/how-to/', import.meta.url)
const pages = readdirSync(HOW_TO).filter((name) => name.endsWith('.md'))
const read = (page: string): string => readFileSync(new URL(page, HOW_TO), 'utf8')

test('what a page points at is there', () => {
  expect(pages.length).toBeGreaterThan(10)
  for (const page of pages) {
    const links = [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string)
    for (const link of links.filter((each) => !each.includes(':')))
      expect(existsSync(new URL(link, HOW_TO)), `${page}: ${link}`).toBe(true)
  }
})
