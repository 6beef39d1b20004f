/** Code with its colours, as HTML. */
import { createRequire } from 'node:module'

interface Highlighter {
  registerLanguage(name: string, language: unknown): void
  highlight(code: string, options: { readonly language: string }): { readonly value: string }
}

// Not by `import`: its types would bring those of the browser into every file of the repository.
const require = createRequire(import.meta.url)
const hljs = require('highlight.js/lib/core') as Highlighter
const LANGUAGES = new Set('bash css ini javascript json lua python sql typescript yaml'.split(' '))
for (const name of LANGUAGES) hljs.registerLanguage(name, require(`highlight.js/lib/languages/${name}`))

export function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}

export function highlighted(code: string, language: string): string {
  return LANGUAGES.has(language) ? hljs.highlight(code, { language }).value : escaped(code)
}
