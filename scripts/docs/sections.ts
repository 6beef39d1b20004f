/** A page in sections, for the search. */
import { doorOf, weightOf } from './doors.ts'
import { plain, type Rendered } from './markdown.ts'
import type { Section } from './search.ts'

const TEXT_MAX = 4_000

export function sectionsOf({ page, html, headings }: Rendered): Section[] {
  const { title: door } = doorOf(page.door)
  const weight = weightOf(page.door, page.url)
  const pieces = html.split(/(?=<h[1-4] id=")/)
  return pieces.flatMap((piece) => {
    const slug = /^<h[1-4] id="([^"]+)"/.exec(piece)?.[1]
    const heading = headings.find((each) => each.slug === slug)
    const body = plain(piece.replace(/^<h\d[\s\S]*?<\/h\d>/, '').replace(/<\/(p|li|td|th|pre|tr)>/g, ' $&'))
    const text = body.replace(/\s+/g, ' ').trim()
    if (heading === undefined && text === '') return []
    const first = heading === undefined || heading.depth === 1
    return [
      {
        url: first ? page.url : `${page.url}#${slug}`,
        page: page.title.replaceAll('`', ''),
        title: heading?.text ?? page.title,
        text: text.slice(0, TEXT_MAX),
        door,
        weight,
      },
    ]
  })
}
