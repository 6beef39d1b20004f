/** The first pages: that of the site (the README, below the doors), and that of each folder that has none. */
import { DOORS, doorOf } from './doors.ts'
import { escaped } from './highlight.ts'
import { between } from './links.ts'
import { plain, type Rendered } from './markdown.ts'
import type { Page } from './pages.ts'

/** The README without its heading and its line of links: the frame has both. */
export function homeHtml({ html }: Rendered): string {
  const body = html.replace(/<h1[\s\S]*?<\/h1>/, '').replace(/^\s*<p>English ·[\s\S]*?<\/p>/, '')
  const [lead = ''] = /<p>[\s\S]*?<\/p>/.exec(body) ?? []
  const cards = DOORS.filter(({ within }) => within === undefined).map(
    ({ name, title, says }) =>
      `<a class="card" href="${name}/index.html"${name === 'zh' ? ' lang="zh-CN"' : ''}><b>${title}</b>${says}</a>`,
  )
  return `<div class="hero"><h1 id="holdfast">Holdfast</h1>${lead.replace('<p>', '<p class="lead">')}
<div class="cards">${cards.join('\n')}</div></div>
${body.replace(lead, '')}`
}

/** The first page of a door without an index.md: every page of it, with its first sentence. */
export function listPage(
  door: string,
  pages: readonly Rendered[],
  url: string,
): { readonly body: string; readonly page: Page } {
  const { title, says } = doorOf(door)
  const items = pages.map(({ page, html }) => {
    const name = escaped(page.title).replace(/`([^`]+)`/g, '<code>$1</code>')
    return `<a class="card" href="${escaped(between(url, page.url))}"><b>${name}</b>${escaped(firstSentence(html))}</a>`
  })
  return {
    body: `<h1 id="${door}">${title}</h1><p class="lead">${says}</p><div class="cards list">${items.join('\n')}</div>`,
    page: { path: `docs/${door}/index.md`, url, door, group: '', title, text: '' },
  }
}

export function firstSentence(html: string): string {
  const paragraphs = [...html.matchAll(/<p>([\s\S]*?)<\/p>/g)].map(([, inner = '']) =>
    plain(inner).replace(/\s+/g, ' '),
  )
  // A line of links, as Chinese pages have it, does not describe the page.
  const text = paragraphs.find((each) => !each.startsWith('English')) ?? ''
  const sentence = /^.+?[.。?](?=\s|$|\p{Script=Han})/u.exec(text)?.[0] ?? text
  return sentence.replace(/[:：]$/, '.').slice(0, 220)
}
