/** A page for a file or a folder of the repository to which another page links. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { escaped, highlighted } from './highlight.ts'

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'typescript',
  tsx: 'typescript',
  js: 'javascript',
  mjs: 'javascript',
  json: 'json',
  lua: 'lua',
  sql: 'sql',
  py: 'python',
  yaml: 'yaml',
  sh: 'bash',
}
const HIDDEN = new Set(['node_modules', 'dist', 'build'])

/** Files below a folder, from there. */
export function filesBelow(root: string, path: string): string[] {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    if (HIDDEN.has(entry.name) || entry.name.startsWith('.')) return []
    return entry.isDirectory()
      ? filesBelow(root, `${path}/${entry.name}`).map((name) => `${entry.name}/${name}`)
      : [entry.name]
  })
}

export function sourceHtml(root: string, path: string): string {
  const title = `<h1 id="source"><code>${escaped(path)}</code></h1>`
  if (statSync(join(root, path)).isDirectory()) {
    const items = filesBelow(root, path).map((name) => `<li><a href="${escaped(name)}.html">${escaped(name)}</a></li>`)
    return `${title}<p>A folder of the repository.</p><ul>${items.join('\n')}</ul>`
  }
  const language = LANGUAGES[path.slice(path.lastIndexOf('.') + 1)] ?? 'text'
  const code = highlighted(readFileSync(join(root, path), 'utf8').trimEnd(), language)
  return `${title}<p>A file of the repository, as it was when this site was built.</p>
<pre class="source" tabindex="0"><code>${code}</code></pre>`
}
