/** docs/explain/questions.md makes no claim without something that shows it: what its links name must be there. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { SPAWNS } from '../../packages/holdfast-lab/src/torture/backend/spawn.ts'

const DOCS = new URL('../../docs/explain/', import.meta.url)
const page = readFileSync(new URL('questions.md', DOCS), 'utf8')
const links = [...page.matchAll(/\[([^\]]+)\]\(([^)#\s]+)(?:#([^)]+))?\)/g)].map(
  ([, text = '', path = '', heading]) => ({
    // A link may stand on two lines.
    text: text.replace(/\s+/g, ' '),
    path,
    heading,
  }),
)

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, DOCS)), 'utf8')
}

/** As a heading becomes the address of its section. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every test, law and mutant that it points at is there, by that name', () => {
  const claims = links.filter(({ path }) => path.startsWith('../../'))
  expect(claims.length).toBeGreaterThan(30)
  for (const { text, path } of claims) expect(read(path).includes(text), `${path} has no "${text}"`).toBe(true)
})

test('every section that it points at is there, and every store has been tortured', () => {
  const sections = links.filter(({ path, heading }) => !path.startsWith('../../') && heading !== undefined)
  for (const { path, heading = '' } of sections) expect(anchors(read(path)), `${path}#${heading}`).toContain(heading)
  const run = new Set(sections.filter(({ path }) => path === 'evidence.md').map(({ heading }) => heading))
  for (const store of SPAWNS) expect(run.has(store), `docs/explain/questions.md shows no run of ${store}`).toBe(true)
})
