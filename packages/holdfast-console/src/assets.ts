/** The page: three files that the build puts beside this one. */
import { readFileSync } from 'node:fs'

export interface Asset {
  readonly type: string
  readonly body: Buffer
}

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
}

/** By name. All files are read at once; from then on they are not needed. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const folder = new URL(import.meta.url.endsWith('.ts') ? '../dist/page/' : '../page/', import.meta.url)
  return new Map(
    Object.entries(TYPES).map(([name, type]) => [name, { type, body: readFileSync(new URL(name, folder)) }]),
  )
}
