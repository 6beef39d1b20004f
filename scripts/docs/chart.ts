/**
 * The map of the house is a flowchart of Mermaid, which GitHub draws. Drawing it here would take 3 MB of JavaScript in
 * the reader's browser, so the site says the same in words: who imports whom, package by package.
 */
import { escaped } from './highlight.ts'

export function chartOf(text: string): string {
  const names = new Map([...text.matchAll(/^\s*(\w+)\["([^"]+)"\]$/gm)].map(([, id = '', name = '']) => [id, name]))
  const arrows = [...text.matchAll(/^\s*(\w+) (-->|-\.->) (\w+)$/gm)].map(([, from = '', kind = '', to = '']) => ({
    from,
    to,
    later: kind !== '-->',
  }))
  if (arrows.length === 0) return `<pre><code>${escaped(text)}</code></pre>`
  const name = (id: string): string => escaped(names.get(id) ?? id)
  const rows = [...new Set(arrows.map(({ from }) => from))].map((from) => {
    const targets = arrows
      .filter((arrow) => arrow.from === from)
      .map(({ to, later }) => `<span class="part${later ? ' later' : ''}">${name(to)}</span>`)
    return `<tr><th scope="row"><span class="part">${name(from)}</span></th><td>${targets.join(' ')}</td></tr>`
  })
  return `<div class="table chart" tabindex="0"><table><thead><tr><th>part</th><th>imports</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`
}
