/**
 * Embeds the scripts of a store, `lua/*.lua` and `sql/*.sql` in its folder, into its `scripts.generated.ts`; likewise
 * those of `fence/redis`.
 * What it writes is not committed: it is written by `npm ci` and before every build.
 * A line `--@include other.lua` stands for that file; a file that is only included by others gives no script of its
 * own. A line `--@const NAME value` names a value for all scripts of the folder: wherever the name stands, the server
 * reads the value. `--@const NAME OTHER + 14` is the other value with each of its numbers raised by 14, or by the
 * number that a name stands for. Lines that are nothing but a comment are left out: the text travels to the server.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Names of Lua and Redis that must stay: members of their libraries, and the fields of a reply. */
const LIBRARY = /\b(?:redis|string|math|table|struct|cmsgpack|cjson|bit)\.(\w+)/g
const REPLY_FIELDS = ['err', 'ok']
const SRC = fileURLToPath(new URL('../packages/holdfast/src', import.meta.url))
const stores = ['stores', 'stores/sql'].flatMap((folder) =>
  readdirSync(join(SRC, folder)).map((store) => join(SRC, folder, store)),
)
const PARTS = [...stores, join(SRC, 'fence/redis')]
const INCLUDE = /^--@include (\S+)$/gm
const COMMENT = /^\s*(--.*)?$/
const CONSTANT = /^--@const ([A-Z][A-Z_]+) (.+)$/gm

for (const part of PARTS) {
  const folders = ['lua', 'sql'].map((kind) => join(part, kind)).filter((folder) => existsSync(folder))
  if (folders.length === 0) continue
  writeFileSync(join(part, 'scripts.generated.ts'), generated(folders))
}

/**
 * A file that others include is written once, and named where they include it: the texts of Redis are a third of their
 * length that way.
 * @param {readonly string[]} folders
 */
function generated(folders) {
  const lines = folders.flatMap((folder) => {
    const names = readdirSync(folder).toSorted()
    const written = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
    // Those of the fence are for scripts of the user, which use their names.
    const isOurs = folder.endsWith('lua') && !folder.includes('fence')
    const texts = isOurs ? shortened(named(written)) : named(written)
    const included = new Set([...texts.values()].flatMap((text) => [...text.matchAll(INCLUDE)].map((m) => m[1])))
    return inOrder([...texts.keys()], texts).map((name) => {
      const visibility = included.has(name) ? '' : 'export '
      return `${visibility}const ${constant(name)}: string = ${quoted(name, texts)}\n`
    })
  })
  return `/** Made by scripts/embed.js from the script files beside it. Do not edit. */\n\n${lines.join('\n')}`
}

/**
 * The scripts with values in place of names. A file that only names values is not a script.
 * @param {ReadonlyMap<string, string>} texts
 */
function named(texts) {
  /** @type {Map<string, string>} */
  const values = new Map()
  for (const [, name, value] of [...texts.values()].flatMap((text) => [...text.matchAll(CONSTANT)])) {
    const [first, ...more] = value.split(' + ').map((part) => values.get(part) ?? part)
    const raised = more.reduce((sum, part) => sum + Number(part), 0)
    if (Number.isNaN(raised)) throw new Error(`--@const ${name} ${value}: only numbers can be added`)
    values.set(name, raised === 0 ? first : first.replace(/\d+/g, (number) => String(Number(number) + raised)))
  }
  const scripts = [...texts].filter(([, text]) => text.split('\n').some((line) => !COMMENT.test(line)))
  return new Map(
    scripts.map(([file, text]) => [file, text.replace(/\b[A-Z][A-Z_]+\b/g, (word) => values.get(word) ?? word)]),
  )
}

/**
 * The scripts of a folder with short names for their local functions, variables and fields: the texts are a quarter of
 * a bundle that has one store. A name of Lua or Redis, or one that stands in a text, stays.
 * @param {ReadonlyMap<string, string>} texts
 */
function shortened(texts) {
  const code = [...texts.values()].flatMap((text) => text.split('\n').filter((line) => !COMMENT.test(line))).join('\n')
  const locals = [...code.matchAll(/\blocal (?:function (\w+)|([\w, ]+?) *(?:=|$))/gm)]
  const fields = [...code.matchAll(/\w\.([A-Za-z]\w*)|[{,]\s*(\w+) = /g)]
  const names = new Set([
    ...locals.flatMap(([, one, several]) => one ?? several.split(', ')),
    ...fields.map(([, field, key]) => field ?? key),
  ])
  const kept = new Set([...REPLY_FIELDS, ...[...code.matchAll(LIBRARY)].map(([, member]) => member)])
  for (const [quote] of code.matchAll(/'[^']*'|"[^"]*"/g)) for (const word of quote.match(/\w+/g) ?? []) kept.add(word)
  const words = code.match(/\b[A-Za-z_]\w*\b/g) ?? []
  const uses = (/** @type {string} */ name) => words.filter((word) => word === name).length
  const long = [...names].filter((name) => name.length > 2 && !kept.has(name)).toSorted()
  const free = shortNames(new Set(words))
  const short = new Map(long.toSorted((a, b) => uses(b) - uses(a)).map((name) => [name, free.next().value]))
  const shorten = (/** @type {string} */ text) => text.replace(/\b[A-Za-z_]\w*\b/g, (word) => short.get(word) ?? word)
  const line = (/** @type {string} */ text) => (text.startsWith('--@include ') ? text : shorten(text))
  return new Map([...texts].map(([file, text]) => [file, text.split('\n').map(line).join('\n')]))
}

/**
 * a, b, … z, A, … Z, then a0, a1, …: the most frequent names get the shortest.
 * @param {ReadonlySet<string>} taken
 */
function* shortNames(taken) {
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('')
  const pairs = letters.flatMap((letter) => Array.from({ length: 10 }, (_, digit) => `${letter}${digit}`))
  for (const name of [...letters, ...pairs]) if (!taken.has(name)) yield name
}

/**
 * What is included comes before what includes it.
 * @param {readonly string[]} names
 * @param {ReadonlyMap<string, string>} texts
 */
function inOrder(names, texts) {
  /** @type {Set<string>} */
  const done = new Set()
  /** @param {string} name */
  const visit = (name) => {
    const text = texts.get(name)
    if (text === undefined) throw new Error(`${name} is included, but there is no such file`)
    for (const [, other] of text.matchAll(INCLUDE)) visit(other)
    done.add(name)
  }
  for (const name of names) visit(name)
  return [...done]
}

/**
 * The text of a script as a template literal, with the names of what it includes.
 * @param {string} name
 * @param {ReadonlyMap<string, string>} texts
 */
function quoted(name, texts) {
  const lines = texts
    .get(name)
    .split('\n')
    .map((line) => {
      const other = line.match(/^--@include (\S+)$/)?.[1]
      if (other !== undefined) return `\${${constant(other)}}`
      if (COMMENT.test(line)) return ''
      const short = name.endsWith('.lua') ? withoutBlanks(line.trim()) : line.trim()
      return `${short.replace(/[\\`]|\$\{/g, '\\$&')}\n`
    })
  return `\`${lines.join('')}\``
}

/**
 * A line of Lua without the blanks around signs, outside its texts. They stay where two signs would become another one:
 * around `..` beside a number or a dot, and around `-` beside another one, which would begin a comment.
 * @param {string} line
 */
function withoutBlanks(line) {
  const signs =
    /'[^']*'|"[^"]*"|\s*(==|~=|<=|>=|[=,+*/<>(){}])\s*|(?<![\d.]\s*)\s*(\.\.)\s*(?![\d.])|\s+(-)\s+(?!-)|(])\s+/g
  return line.replace(signs, (all, ...found) => found.slice(0, 4).find((sign) => sign !== undefined) ?? all)
}

/** @param {string} name */
function constant(name) {
  return name
    .replace(/\.\w+$/, '')
    .replace(/\W/g, '_')
    .toUpperCase()
}
