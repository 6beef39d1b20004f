/** Builds the site of the documentation into a folder, and says what is wrong with it. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { apiPages } from './api-page.ts'
import { DOORS } from './doors.ts'
import { firstSentence, homeHtml, listPage } from './home.ts'
import { Links } from './links.ts'
import { type Rendered, render } from './markdown.ts'
import { type Page, pagesOf } from './pages.ts'
import type { Section } from './search.ts'
import { sectionsOf } from './sections.ts'
import { filesBelow, sourceHtml } from './source-page.ts'
import { framed, type Group } from './template.ts'

export interface Site {
  readonly pages: readonly Page[]
  readonly sections: readonly Section[]
  /** Links that lead nowhere, anchors that are not there, public names without a comment. */
  readonly faults: readonly string[]
}

const HERE = fileURLToPath(new URL('.', import.meta.url))

export async function buildSite(root: string, folder: string): Promise<Site> {
  rmSync(folder, { recursive: true, force: true })
  const api = apiPages(root)
  const pages = [...pagesOf(root), ...api.pages]
  const links = new Links(root, pages)
  const rendered = pages.map((page) => render(page, links))
  const write = (url: string, text: string): void => {
    mkdirSync(dirname(join(folder, url)), { recursive: true })
    writeFileSync(join(folder, url), text)
  }

  const lists: Page[] = []
  for (const { name } of DOORS.filter(({ name }) => name !== 'home')) {
    const url = name === 'api' ? 'reference/api/index.html' : `${name}/index.html`
    const own = rendered.filter(({ page }) => page.door === name)
    if (own.length === 0 || own.some(({ page }) => page.url === url)) continue
    const { body, page } = listPage(name, own, url)
    lists.push(page)
    write(url, framed({ ...page, body, headings: [], side: sideOf(name, [...pages, page]) }))
  }
  const all = [...pages, ...lists]
  for (const each of rendered) {
    const { page, html, headings } = each
    const body = page.door === 'home' ? homeHtml(each) : html
    write(page.url, framed({ ...page, body, headings, side: sideOf(page.door, all), says: firstSentence(html) }))
  }
  // A folder brings its files, and each is a page.
  for (const [url, path] of links.sources) {
    if (url.endsWith('/index.html'))
      for (const name of filesBelow(root, path)) links.sources.set(`source/${path}/${name}.html`, `${path}/${name}`)
  }
  for (const [url, path] of links.sources) {
    write(url, framed({ url, title: path, door: 'project', body: sourceHtml(root, path), headings: [], side: [] }))
  }
  for (const [url, path] of links.images) {
    mkdirSync(dirname(join(folder, url)), { recursive: true })
    cpSync(join(root, path), join(folder, url))
  }
  const sections = rendered.flatMap(sectionsOf)
  await assets(folder, sections)
  return { pages: all, sections, faults: [...api.faults, ...links.faults, ...lostAnchors(links, rendered, lists)] }
}

/** Style, script and the sections of the search. Those come as a script, which a page on a disk may load too. */
async function assets(folder: string, sections: readonly Section[]): Promise<void> {
  const into = join(folder, 'assets')
  mkdirSync(into, { recursive: true })
  await build({
    entryPoints: [join(HERE, 'page/page.ts'), join(HERE, 'page/page.css')],
    bundle: true,
    minify: true,
    target: 'es2022',
    outdir: into,
    logLevel: 'error',
  })
  cpSync(join(HERE, 'page/icon.svg'), join(into, 'icon.svg'))
  writeFileSync(join(into, 'sections.js'), `globalThis.sections=${JSON.stringify(sections)}`)
}

/** The folders of docs/zh, as they stand above their pages. */
const CHINESE_GROUPS: Readonly<Record<string, string>> = { start: '十分钟上手', 'how-to': '怎么做' }

/** The navigation beside a page: the pages of its door, and below them those of the doors within. */
function sideOf(door: string, pages: readonly Page[]): Group[] {
  const within = DOORS.find(({ name }) => name === door)?.within
  if (within !== undefined && within !== '') return sideOf(within, pages)
  const own = pages.filter((page) => page.door === door)
  const title = (page: Page): string => {
    if (page.url === `${door}/index.html` && door !== 'zh') return 'Overview'
    // In a group (`Stores`) the name is enough, without the text behind the colon.
    return page.group === '' ? page.title : page.title.replace(/: .*$/, '')
  }
  const groups = [...new Set(own.map(({ group }) => group))].map((group) => ({
    title: door === 'zh' ? (CHINESE_GROUPS[group] ?? group) : `${group.slice(0, 1).toUpperCase()}${group.slice(1)}`,
    entries: [...own.filter((page) => page.group === group)]
      .sort(indexFirst)
      .map((page) => ({ url: page.url, title: title(page) })),
  }))
  const further = DOORS.filter((each) => each.within === door && door !== '').map(({ name, title: heading }) => ({
    title: heading,
    entries: [...pages.filter((page) => page.door === name)]
      .sort(indexFirst)
      .map((page) => ({ url: page.url, title: page.url.endsWith('/index.html') ? 'Overview' : page.title })),
  }))
  return [...groups, ...further.filter(({ entries }) => entries.length > 0)]
}

/** The list of a folder stands before its pages, whose order stays. */
function indexFirst(a: Page, b: Page): number {
  return Number(b.url.endsWith('/index.html')) - Number(a.url.endsWith('/index.html'))
}

function lostAnchors(links: Links, rendered: readonly Rendered[], lists: readonly Page[]): string[] {
  const anchors = new Map(rendered.map(({ page, anchors }) => [page.url, anchors]))
  const known = new Set([
    ...anchors.keys(),
    ...lists.map(({ url }) => url),
    ...links.sources.keys(),
    ...links.images.keys(),
  ])
  return links.found.flatMap(({ from, written, url, anchor }) => {
    if (!known.has(url)) return [`${from}: ${written} leads to ${url}, which is not there`]
    // An anchor into a source file is a number of a line there, which the site does not have.
    const there = anchor === '' || anchors.get(url)?.has(anchor) === true
    return there ? [] : [`${from}: ${written} has no such heading`]
  })
}
