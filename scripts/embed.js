/**
 * Embeds the scripts of a driver, `src/drivers/<store>/lua/*.lua` and `sql/*.sql`, into its `scripts.generated.ts`; likewise those of `src/fence/redis`.
 * What it writes is not committed: it is written by `npm ci` and before every build.
 * A line `--@include other.lua` stands for that file; a file that is only included by others gives no script of its own.
 * Lines that are nothing but a comment are left out: the text travels to the server.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const PARTS = [
  ...readdirSync(join(SRC, 'drivers')).map((store) => join(SRC, 'drivers', store)),
  join(SRC, 'fence/redis'),
]
const INCLUDE = /^--@include (\S+)$/gm

for (const part of PARTS) {
  const folders = ['lua', 'sql'].map((kind) => join(part, kind)).filter((folder) => existsSync(folder))
  if (folders.length === 0) continue
  writeFileSync(join(part, 'scripts.generated.ts'), generated(folders))
}

/** @param {readonly string[]} folders */
function generated(folders) {
  const scripts = folders.flatMap((folder) => {
    const names = readdirSync(folder).toSorted()
    const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
    const included = new Set([...texts.values()].flatMap((text) => [...text.matchAll(INCLUDE)].map((m) => m[1])))
    return names.filter((name) => !included.has(name)).map((name) => [constant(name), whole(name, texts)])
  })
  const lines = scripts.map(([name, text]) => `export const ${name}: string = ${quoted(text)}\n`)
  return `/** Made by scripts/embed.js from the script files beside it. Do not edit. */\n\n${lines.join('\n')}`
}

/**
 * @param {string} name
 * @param {ReadonlyMap<string, string>} texts
 * @returns {string}
 */
function whole(name, texts) {
  const text = texts.get(name)
  if (text === undefined) throw new Error(`${name} is included, but there is no such file`)
  return text
    .split('\n')
    .map((line) => {
      const other = line.match(/^--@include (\S+)$/)?.[1]
      if (other !== undefined) return whole(other, texts)
      return /^\s*(--.*)?$/.test(line) ? '' : `${line.trim()}\n`
    })
    .join('')
}

/** @param {string} name */
function constant(name) {
  return name
    .replace(/\.\w+$/, '')
    .replace(/\W/g, '_')
    .toUpperCase()
}

/** @param {string} text */
function quoted(text) {
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``
}
