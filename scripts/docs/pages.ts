/** The pages of the site: every Markdown file of docs/, and the files of the root that readers want. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { doorOf } from './doors.ts'

export interface Page {
  /** The file, from the root of the repository. A page that is written by a program has the path it would have. */
  readonly path: string
  /** Where it is in the site: `how-to/cron.html`. */
  readonly url: string
  readonly door: string
  /** A heading of the navigation above the pages of a folder below the door: `Stores`. */
  readonly group: string
  readonly title: string
  readonly text: string
}

/** Files of the root, and their address in the site. */
const ROOT_PAGES: Readonly<Record<string, { readonly url: string; readonly door: string }>> = {
  'README.md': { url: 'index.html', door: 'home' },
  'README.zh-CN.md': { url: 'zh/index.html', door: 'zh' },
  'CONTRIBUTING.md': { url: 'project/contributing.html', door: 'project' },
  'CHANGELOG.md': { url: 'project/changelog.html', door: 'project' },
  'SECURITY.md': { url: 'project/security.html', door: 'project' },
}

export function titleOf(text: string, path: string): string {
  const title = /^# (.+)$/m.exec(text.replace(/^```[\s\S]*?^```$/gm, ''))?.[1]
  if (title === undefined) throw new Error(`${path} has no heading: begin it with "# Title"`)
  return title.trim()
}

/** The pages in the order of the navigation: as docs/order.json says, then what it does not name, by title. */
export function pagesOf(root: string): Page[] {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const order = JSON.parse(read('docs/order.json')) as Record<string, readonly string[]>
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => {
      const [door = '', ...rest] = name.split('/')
      doorOf(door)
      const group = rest.length > 1 ? (rest[0] as string) : ''
      return { path: `docs/${name}`, url: name.replace(/\.md$/, '.html'), door, group }
    })
  const inRoot = Object.entries(ROOT_PAGES).map(([path, place]) => ({ path, ...place, group: '' }))
  const pages = [...inRoot, ...inDocs].map((page) => {
    const text = read(page.path)
    return { ...page, text, title: page.path === 'README.zh-CN.md' ? 'Holdfast 简介' : titleOf(text, page.path) }
  })
  return inOrder(pages, order)
}

/** A page that `order` names stands as it says; a folder stands where its own name does, behind the pages. */
export function inOrder(pages: readonly Page[], order: Readonly<Record<string, readonly string[]>>): Page[] {
  const rankOf = ({ door }: Page, name: string): number => {
    if (name === 'index') return -1
    const at = (order[door] ?? []).indexOf(name)
    return at === -1 ? Number.MAX_SAFE_INTEGER : at
  }
  const rank = (page: Page): number => rankOf(page, page.url.slice(page.url.lastIndexOf('/') + 1, -'.html'.length))
  const folder = (page: Page): number => (page.group === '' ? -2 : rankOf(page, page.group))
  return pages.toSorted(
    (a, b) => a.door.localeCompare(b.door) || folder(a) - folder(b) || rank(a) - rank(b) || byName(a, b),
  )
}

/** Decisions and the like have numbers: their files say the order. Others go by title. */
function byName(a: Page, b: Page): number {
  return a.door === 'decisions' ? a.path.localeCompare(b.path) : a.title.localeCompare(b.title)
}
