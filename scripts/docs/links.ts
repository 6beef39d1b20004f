/**
 * Where a link of a page leads on the site. A link to another page leads to that page; a link to a file or a folder of
 * the repository leads to a page that shows it, so that the site needs nothing from elsewhere.
 */
import { existsSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { Page } from './pages.ts'

/** A link within the site. Its anchor is checked when every page is known. */
export interface SiteLink {
  readonly from: string
  /** The link as the page has it. */
  readonly written: string
  readonly url: string
  readonly anchor: string
}

const IMAGE = /\.(png|svg|jpg|gif|webp)$/

export class Links {
  readonly found: SiteLink[] = []
  readonly faults: string[] = []
  /** Files and folders of the repository to which a page links, by their address in the site. */
  readonly sources: Map<string, string> = new Map()
  /** Pictures to copy, by their address in the site. */
  readonly images: Map<string, string> = new Map()
  readonly #root: string
  readonly #pages: Map<string, Page>

  constructor(root: string, pages: readonly Page[]) {
    this.#root = root
    this.#pages = new Map(pages.map((page) => [page.path, page]))
  }

  /** The address to write into the page. */
  resolve(page: Page, written: string): string {
    if (/^[a-z][a-z+.-]*:/i.test(written)) return written
    const [target = '', anchor = ''] = written.split('#', 2)
    const path = target === '' ? page.path : posix.normalize(posix.join(posix.dirname(page.path), decodeURI(target)))
    const url = this.#urlOf(path.replace(/\/$/, ''))
    if (url === undefined) {
      this.faults.push(`${page.path}: ${written} leads nowhere`)
      return '#'
    }
    this.found.push({ from: page.path, written, url, anchor: decodeURIComponent(anchor) })
    const relative = url === page.url && anchor !== '' ? '' : between(page.url, url)
    return anchor === '' ? relative : `${relative}#${anchor}`
  }

  #urlOf(path: string): string | undefined {
    const page = this.#pages.get(path) ?? this.#pages.get(`${path}/index.md`)
    if (page !== undefined) return page.url
    if (path.startsWith('..') || !existsSync(join(this.#root, path))) return undefined
    const folder = statSync(join(this.#root, path)).isDirectory()
    if (folder && path === 'docs') return 'index.html'
    if (folder && path.startsWith('docs/')) return `${path.slice('docs/'.length)}/index.html`
    if (IMAGE.test(path)) {
      const url = path.replace(/^docs\//, '')
      this.images.set(url, path)
      return url
    }
    const url = folder ? `source/${path}/index.html` : `source/${path}.html`
    this.sources.set(url, path)
    return url
  }
}

/** From one page of the site to another, so that the site works in any folder, and from a disk. */
export function between(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to) || posix.basename(to)
}
