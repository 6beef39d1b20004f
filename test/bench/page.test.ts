/** docs/explain/performance.md and its charts say what the committed run says, and nothing else. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Part {
  readonly measured: readonly { readonly series: readonly { readonly rounds: readonly object[] }[] }[]
}

// The bench is plain JavaScript that the root's type check does not read.
const bench = (file: string): Promise<unknown> => import(new URL(`../../bench/${file}`, import.meta.url).href)
const { makePage } = (await bench('page.js')) as {
  makePage: (parts: readonly Part[], page: string) => { text: string; images: ReadonlyMap<string, string> }
}
const { readRun } = (await bench('kept-run.js')) as { readRun: () => Promise<readonly Part[]> }

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

test('the figures and the charts of the page are those of the committed run', async () => {
  const page = read('explain/performance.md')
  const run = await readRun()
  expect(run.length).toBeGreaterThan(0)
  const { text, images } = makePage(run, page)
  expect(page, 'npm run bench -- --charts makes it anew').toBe(text)
  expect(images.size).toBeGreaterThan(0)
  for (const [name, image] of images) {
    expect(read(`images/${name}`), `${name}: npm run bench -- --charts makes it anew`).toBe(image)
    expect(page).toContain(`../images/${name}`)
  }
})

test('another figure makes another page', async () => {
  const page = read('explain/performance.md')
  const run = await readRun()
  const text = JSON.stringify(run).replaceAll(/"(pairsPerS|usPerOp)":(\d)/g, '"$1":9$2')
  const changed = JSON.parse(text, (_key, value: unknown) => (value === null ? Number.NaN : value)) as Part[]
  expect(makePage(changed, page).text).not.toBe(page)
})
