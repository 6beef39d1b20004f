/** docs/reference/errors.md has every code of the sources, each with its class and with what to do, and no other. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT, sourcesOf } from './sources.ts'

const page = readFileSync(new URL('docs/reference/errors.md', ROOT), 'utf8')
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((text) => [text.split('\n', 1)[0] as string, text]),
)

test('no code is missing and none is invented', async () => {
  const codes = new Set((await sourcesOf('holdfast')).flatMap(({ text }) => text.match(/\bHF_[A-Z_]+\b/g) ?? []))
  expect(codes.size).toBeGreaterThan(15)
  expect([...sections.keys()].sort()).toEqual([...codes].sort())
  // Also where the page only mentions one.
  expect(new Set(page.match(/\bHF_[A-Z_]+\b/g))).toEqual(codes)
})

test('every code stands with the class that has it, and with what to do', async () => {
  const sources = [...(await sourcesOf('holdfast')), ...(await sourcesOf('holdfast-lab'))]
  const classes = sources.flatMap(({ text }) => [
    ...text.matchAll(/class (\w+Error) extends \w+Error \{\s+(?:override )?readonly code(?:: string)? = '(HF_\w+)'/g),
  ])
  expect(classes.length).toBeGreaterThan(15)
  for (const [, name, code = ''] of classes) expect(sections.get(code), code).toContain(`\n\n\`${name}\``)
  for (const [code, text] of sections) expect(text, code).toContain('**What to do:**')
})
