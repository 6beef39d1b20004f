/** A page of Markdown as HTML, with its headings, and in sections for the search. */
import { Marked, type Tokens } from 'marked'
import { chartOf } from './chart.ts'
import { escaped, highlighted } from './highlight.ts'
import type { Links } from './links.ts'
import type { Page } from './pages.ts'
import { Slugs } from './slug.ts'

export interface Heading {
  readonly depth: number
  readonly text: string
  readonly slug: string
}

export interface Rendered {
  readonly page: Page
  readonly html: string
  readonly headings: readonly Heading[]
  readonly anchors: ReadonlySet<string>
}

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'typescript',
  js: 'javascript',
  sh: 'bash',
  crontab: 'bash',
}

export function render(page: Page, links: Links): Rendered {
  const headings: Heading[] = []
  const slugs = new Slugs()
  const marked = new Marked({ gfm: true })
  marked.use({
    walkTokens(token) {
      if (token.type === 'text') token['text'] = joined(token['text'] as string)
    },
    renderer: {
      heading({ tokens, depth }: Tokens.Heading): string {
        const inner = this.parser.parseInline(tokens)
        const text = plain(inner)
        const slug = slugs.of(text)
        headings.push({ depth, text, slug })
        const sign = depth === 1 ? '' : `<a class="anchor" href="#${slug}" aria-label="Link to ${escaped(text)}">#</a>`
        return `<h${depth} id="${slug}">${inner}${sign}</h${depth}>\n`
      },
      code({ text, lang }: Tokens.Code): string {
        if (lang === 'mermaid') return chartOf(text)
        // Indented text is commands, drawings and lists. In these a comment begins with its sign.
        const plainText = (): string =>
          escaped(text).replace(/(^|\s)(# .*)$/gm, '$1<span class="hljs-comment">$2</span>')
        const html = lang === undefined ? plainText() : highlighted(text, LANGUAGES[lang] ?? lang)
        return `<pre tabindex="0"><code>${html}</code></pre>\n`
      },
      link({ href, tokens }: Tokens.Link): string {
        return `<a href="${escaped(links.resolve(page, href))}">${this.parser.parseInline(tokens)}</a>`
      },
      image({ href, text }: Tokens.Image): string {
        return `<img src="${escaped(links.resolve(page, href))}" alt="${escaped(text)}" loading="lazy">`
      },
      html({ text }: Tokens.HTML | Tokens.Tag): string {
        return rawHtml(text, (address) => links.resolve(page, address))
      },
      table(token: Tokens.Table): string {
        const row = (cells: readonly Tokens.TableCell[], tag: string): string =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n')
        const head = `<thead>${row(token.header, 'th')}</thead>`
        return `<div class="table" tabindex="0"><table>${head}\n<tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  const html = marked.parse(page.text, { async: false })
  const anchors = new Set([...html.matchAll(/ (?:id|name)="([^"]+)"/g)].map((match) => match[1] as string))
  return { page, html, headings, anchors }
}

/** Chinese has no spaces, so a line break between two characters must not become a space. */
function joined(text: string): string {
  return text.replace(/(?<=[，。；：、！？）」”…])\n|\n(?=[（「“])|(?<=\p{Script=Han})\n(?=\p{Script=Han})/gu, '')
}

/** Each theme has a picture, because the reader may have chosen another theme than the system's. */
function rawHtml(text: string, resolve: (address: string) => string): string {
  if (text.startsWith('<!--')) return ''
  const dark = /<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">/.exec(text)?.[1]
  const light = /<img src="([^"]+)"([^>]*)>/.exec(text)
  if (dark !== undefined && light !== null) {
    const [, source = '', rest = ''] = light
    const image = (theme: string, address: string): string =>
      `<img class="only-${theme}" src="${resolve(address)}"${rest}>`
    return `<p class="picture">${image('light', source)}${image('dark', dark)}</p>`
  }
  return text.replace(/ (href|src)="([^"]+)"/g, (_, name: string, value: string) => ` ${name}="${resolve(value)}"`)
}

/** The words of the HTML, as a reader sees them. */
export function plain(html: string): string {
  return html
    .replace(/<[^>]+>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#(?:39|x27);/g, "'")
    .replace(/&amp;/g, '&')
}
