/** docs/stories tells nothing that a run of the lab has not shown: each picture is one of an exhibit that is named. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXHIBITS } from '../../packages/holdfast-lab/src/lab/catalogue.ts'

const STORIES = new URL('../../docs/stories/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, STORIES), 'utf8')
const pages = readdirSync(STORIES).filter((name) => name.endsWith('.md'))
const stories = pages.filter((name) => name !== 'index.md')
const pictures = readdirSync(new URL('images/', STORIES))
const names = EXHIBITS.map(({ name }) => name)

/** The exhibits whose commands stand on a page. */
function commands(text: string): string[] {
  return [...text.matchAll(/holdfast lab ([a-z-]+)/g)].map((match) => match[1] as string)
}

test('each story says the command, and draws only what that command has drawn', () => {
  expect(stories.length).toBeGreaterThan(4)
  for (const story of stories) {
    const text = read(story)
    const shown = [...text.matchAll(/\]\(images\/([a-z-]+)-\d+\.svg\)/g)].map((match) => match[1] as string)
    expect(shown.length, story).toBeGreaterThan(0)
    for (const name of shown) expect(commands(text), `${story} draws ${name}`).toContain(name)
    for (const name of commands(text)) expect(names, story).toContain(name)
  }
})

test('each picture is of the lab, and stands in a story', () => {
  const all = stories.map(read).join('\n')
  for (const picture of pictures) {
    expect(all, picture).toContain(`](images/${picture})`)
    expect(read(`images/${picture}`), picture).toContain(`>holdfast lab ${picture.replace(/-\d+\.svg$/, '')} · `)
  }
  const drawn = [...all.matchAll(/images\/([\w-]+\.svg)/g)].map((match) => match[1] as string)
  expect(new Set(drawn)).toEqual(new Set(pictures))
})

test('every story is on the first page', () => {
  for (const story of stories) expect(read('index.md')).toContain(`](${story})`)
})

test('what a story points at is there', () => {
  for (const page of pages) {
    const links = [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string)
    for (const link of links) expect(existsSync(new URL(link, STORIES)), `${page}: ${link}`).toBe(true)
  }
})
