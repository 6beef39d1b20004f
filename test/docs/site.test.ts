/** The parts of the documentation's site: what counts as a fault, the order of pages, the words of the search. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type PublicEntry, undocumented } from '../../scripts/docs/api.ts'
import { Links } from '../../scripts/docs/links.ts'
import { render } from '../../scripts/docs/markdown.ts'
import { inOrder, type Page } from '../../scripts/docs/pages.ts'
import { stem, words } from '../../scripts/docs/search.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const page = (url: string, text = '', door = 'how-to'): Page => ({
  path: `docs/${url.replace('.html', '.md')}`,
  url,
  door,
  group: '',
  title: url,
  text,
})

test('a link to a missing file, and a page without a heading of that name, are faults', () => {
  const pages = [page('how-to/a.html', '# A\n\n[b](b.md#there) [c](c.md) [d](../reference/d.md#nowhere)')]
  const links = new Links(ROOT, pages)
  render(pages[0] as Page, links)
  expect(links.faults).toHaveLength(3)
})

test('a public name without a comment, and an option without a default, are faults', () => {
  const member = { name: 'waitMs', doc: 'How long.', isOptional: true }
  const name = { kind: 'interface', shape: '', file: 'a.ts', home: 'holdfast' } as const
  const entry = (names: PublicEntry['names']): PublicEntry[] => [{ name: 'holdfast', doc: 'Locks.', names }]
  expect(undocumented(entry([{ ...name, name: 'A', doc: '', members: [] }]))).toHaveLength(1)
  expect(undocumented(entry([{ ...name, name: 'B', doc: 'B.', members: [{ ...member, doc: '' }] }]))).toHaveLength(1)
  expect(undocumented(entry([{ ...name, name: 'COptions', doc: 'C.', members: [member] }]))).toHaveLength(1)
  expect(undocumented(entry([{ ...name, name: 'D', doc: 'D.', members: [member] }]))).toEqual([])
})

test('pages stand in the order of the list, then by title', () => {
  const pages = ['b', 'c', 'a', 'index'].map((name) => page(`how-to/${name}.html`))
  const names = inOrder(pages, { 'how-to': ['c'] }).map(({ url }) => url)
  expect(names).toEqual(['how-to/index.html', 'how-to/c.html', 'how-to/a.html', 'how-to/b.html'])
})

test('folders stand as the list says, and their pages, too', () => {
  const pages = ['how-to/b', 'start/y', 'start/x', 'start/index'].map((name) => ({
    ...page(`zh/${name}.html`, '', 'zh'),
    group: name.split('/')[0] as string,
  }))
  const names = inOrder([...pages, page('zh/a.html', '', 'zh')], { zh: ['start', 'how-to', 'x', 'y'] })
  expect(names.map(({ url }) => url.slice(3, -5))).toEqual(['a', 'start/index', 'start/x', 'start/y', 'how-to/b'])
})

test('a line that ends between two Chinese signs leaves no space, others do', () => {
  const [text] = [render(page('how-to/a.html', '# A\n\n拿锁，\n干活\n释放\nRedis\nlock'), new Links(ROOT, []))]
  expect(text.html).toContain('<p>拿锁，干活释放\nRedis\nlock</p>')
})

test('words of the search: names in parts, English by its stem, Chinese in words', () => {
  expect(words('ttlMs HF_LOST')).toEqual(['ttlMs', 'ttl', 'Ms', 'HF_LOST', 'HF', 'LOST'])
  expect(['locks', 'locking', 'migrating', 'migration', 'migrate'].map(stem)).toEqual([
    ...['lock', 'lock', 'migrat', 'migrat', 'migrat'],
  ])
  expect(words('用Redis做分布式锁')).toEqual(['用', 'Redis', '做分', '分布', '布式', '式锁'])
})
