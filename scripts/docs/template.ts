/** The frame of every page: head, navigation, contents, and what comes next. */
import { DOORS } from './doors.ts'
import { escaped } from './highlight.ts'
import { between } from './links.ts'
import type { Heading } from './markdown.ts'

export interface Entry {
  readonly url: string
  readonly title: string
}

/** A list of the side, with an optional heading. */
export interface Group {
  readonly title: string
  readonly entries: readonly Entry[]
}

export interface Frame {
  readonly url: string
  readonly title: string
  readonly door: string
  readonly body: string
  readonly headings: readonly Heading[]
  readonly side: readonly Group[]
  readonly says?: string
}

const WORDS = {
  en: { search: 'Search', here: 'On this page', before: 'Before', next: 'Next', menu: 'Pages', theme: 'Light or dark' },
  zh: { search: '搜索', here: '本页内容', before: '上一页', next: '下一页', menu: '目录', theme: '浅色或深色' },
}
/** Before the first paint, so that a dark page never flashes white. */
const THEME = `try{const t=localStorage.getItem('theme');if(t)document.documentElement.dataset.theme=t}catch{}`

/** Headings and titles may have code in them. */
const inline = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

export function framed(frame: Frame): string {
  const { url, title, door, body, headings, side, says } = frame
  const to = (target: string): string => escaped(between(url, target))
  const chinese = door === 'zh'
  const word = chinese ? WORDS.zh : WORDS.en
  const top = DOORS.find(({ name }) => name === door)?.within ?? door
  const doors = DOORS.filter(({ within }) => within === undefined).map(({ name, title: shown }) => {
    const here = name === top ? ' aria-current="true"' : ''
    const lang = name === 'zh' ? ' lang="zh-CN"' : ''
    return `<a href="${to(`${name}/index.html`)}"${here}${lang}>${shown}</a>`
  })
  const flat = side.flatMap(({ entries }) => entries)
  const at = flat.findIndex((entry) => entry.url === url)
  const home = door === 'home'
  const step = (entry: Entry | undefined, name: string, rel: string): string =>
    entry === undefined || at === -1
      ? ''
      : `<a rel="${rel}" href="${to(entry.url)}"><small>${name}</small>${inline(entry.title)}</a>`
  const inner = headings.filter(({ depth }) => depth === 2 || depth === 3)
  const shown = inner.length > 40 ? inner.filter(({ depth }) => depth === 2) : inner
  const toc =
    shown.length < 2 || home
      ? ''
      : `<nav class="toc" aria-label="${word.here}"><b>${word.here}</b>${shown
          .map(({ depth, text, slug }) => `<a class="d${depth}" href="#${slug}">${escaped(text)}</a>`)
          .join('\n')}</nav>`
  const groups = side.map((group) => sideGroup(group, url)).join('\n')
  const sidebar = `<nav class="side" id="side" aria-label="${word.menu}">${groups}</nav>`
  return `<!doctype html>
<html lang="${chinese ? 'zh-CN' : 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title.replaceAll('`', ''))}${home ? '' : ' · Holdfast'}</title>
${says === undefined ? '' : `<meta name="description" content="${escaped(says)}">`}
<link rel="icon" href="${to('assets/icon.svg')}">
<link rel="stylesheet" href="${to('assets/page.css')}">
<script>${THEME}</script>
<script src="${to('assets/page.js')}" data-root="${escaped(between(url, '.'))}/" defer></script>
</head>
<body class="${home ? 'home' : 'inner'}">
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="brand" href="${to('index.html')}">
<img src="${to('assets/icon.svg')}" alt="" width="22" height="22">Holdfast</a>
<nav class="doors" aria-label="Doors">${doors.join('\n')}</nav>
<button class="search" type="button" data-search><span>${word.search}</span><kbd>/</kbd></button>
<button class="theme" type="button" data-theme-switch aria-label="${word.theme}">◐</button>
<button class="menu" type="button" data-menu aria-controls="side" aria-expanded="false">${word.menu}</button>
</header>
<div class="house">
${home ? '' : sidebar}
<main id="main"><article>
${body}
</article>
<footer>${step(flat[at - 1], word.before, 'prev')}${step(flat[at + 1], word.next, 'next')}</footer>
</main>
${toc}
</div>
</body>
</html>
`
}

function sideGroup({ title, entries }: Group, url: string): string {
  const heading = title === '' ? '' : `<b>${escaped(title)}</b>`
  const items = entries.map((entry) => {
    const here = entry.url === url ? ' aria-current="page"' : ''
    return `<a href="${escaped(between(url, entry.url))}"${here}>${inline(entry.title)}</a>`
  })
  return `${heading}${items.join('\n')}`
}
