/** The exhibits: each is told whole, and each is among those that the tests run and the docs describe. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { EXHIBITS } from '../../src/lab/catalogue.ts'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

test('every file of an exhibit is in the catalogue, under its own name', () => {
  const files = readdirSync(`${ROOT}packages/holdfast-lab/src/exhibits`).map((file) => file.replace('.ts', ''))
  expect(EXHIBITS.map(({ name }) => name).toSorted()).toEqual(files.toSorted())
})

test('every exhibit is run by a test, and described', () => {
  const folder = `${ROOT}packages/holdfast-lab/test/lab`
  const tests = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, 'utf8'))
  const docs = readFileSync(`${ROOT}docs/explain/lab.md`, 'utf8')
  for (const { name } of EXHIBITS) {
    expect(
      tests.some((text) => new RegExp(`^  '?${name}'?: \\[`, 'm').test(text)),
      `a test of ${name}`,
    ).toBe(true)
    expect(docs).toContain(`holdfast lab ${name}`)
  }
})

test('every exhibit says what the recipe is, who says so, and what is learnt', () => {
  for (const { recipe, source, lesson, title, servers } of EXHIBITS) {
    for (const text of [recipe, source, lesson, title]) expect(text.length).toBeGreaterThan(10)
    expect(servers.length).toBe(1)
  }
})

test('no client package is loaded before an exhibit needs it', () => {
  const files = readdirSync(`${ROOT}packages/holdfast-lab/src`, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(lab|exhibits)\/.*\.ts$/.test(file),
  )
  const eager = files.filter((file) =>
    /^import (?!type)[^\n]* from '(mysql2|ioredis|pg|postgres)/m.test(
      readFileSync(`${ROOT}packages/holdfast-lab/src/${file}`, 'utf8'),
    ),
  )
  expect(files.length).toBeGreaterThan(40)
  expect(eager).toEqual([])
})
