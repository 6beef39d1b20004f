/**
 * Reads EDN by the rules of its specification, and knows nothing of how histories are written: what it refuses, Jepsen
 * refuses. Keywords are read as `:name`, so that they differ from strings; maps by the texts of their keys.
 */

export type Read = string | number | null | boolean | readonly Read[] | { readonly [key: string]: Read } | ReadString

/** A string, as opposed to a keyword or a symbol. */
export class ReadString {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** All forms of a text. */
export function readEdn(text: string): Read[] {
  const reader = new Reader(text)
  const forms: Read[] = []
  while (!reader.isAtEnd()) forms.push(reader.form())
  return forms
}

const SPACE = /[\s,]/
const DELIMITER = /[\s,()[\]{}";]/
const NUMBER = /^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?N?$/
const SYMBOL = /^[A-Za-z.*+!\-_?$%&=<>/][\w.*+!\-?$%&=<>#:/]*$/

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    for (;;) {
      while (SPACE.test(this.#text[this.#at] ?? '')) this.#at += 1
      if (this.#text[this.#at] !== ';') return this.#at >= this.#text.length
      while (this.#at < this.#text.length && this.#text[this.#at] !== '\n') this.#at += 1
    }
  }

  form(): Read {
    if (this.isAtEnd()) throw this.#error('a form is missing')
    const char = this.#text[this.#at] as string
    if (char === '"') return this.#string()
    if (char === '[' || char === '(') return this.#until(char === '[' ? ']' : ')')
    if (char === '{') return this.#map()
    if (')]}'.includes(char)) throw this.#error(`${char} closes nothing`)
    return this.#atom()
  }

  #until(close: string): Read[] {
    this.#at += 1
    const forms: Read[] = []
    for (;;) {
      if (this.isAtEnd()) throw this.#error(`${close} is missing`)
      if (this.#text[this.#at] === close) break
      forms.push(this.form())
    }
    this.#at += 1
    return forms
  }

  #map(): Read {
    const forms = this.#until('}')
    if (forms.length % 2 > 0) throw this.#error('a key without a value')
    const map: Record<string, Read> = {}
    for (let at = 0; at < forms.length; at += 2) {
      const key = forms[at]
      if (typeof key !== 'string') throw this.#error('a key that is no keyword')
      if (key in map) throw this.#error(`the key ${key} comes twice`)
      map[key] = forms[at + 1] as Read
    }
    return map
  }

  #string(): ReadString {
    const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' }
    let text = ''
    for (this.#at += 1; ; this.#at++) {
      const char = this.#text[this.#at]
      if (char === undefined) throw this.#error('a string without an end')
      if (char === '"') break
      if (char !== '\\') {
        text += char
        continue
      }
      this.#at += 1
      const escaped = escapes[this.#text[this.#at] ?? '']
      if (escaped === undefined) throw this.#error('no such escape')
      text += escaped
    }
    this.#at += 1
    return new ReadString(text)
  }

  #atom(): Read {
    const from = this.#at
    while (this.#at < this.#text.length && !DELIMITER.test(this.#text[this.#at] as string)) this.#at += 1
    const text = this.#text.slice(from, this.#at)
    if (text === 'nil') return null
    if (text === 'true' || text === 'false') return text === 'true'
    if (NUMBER.test(text)) return Number(text.replace('N', ''))
    if (SYMBOL.test(text.replace(/^:/, ''))) return text
    throw this.#error(`${JSON.stringify(text)} is neither a number nor a name`)
  }

  #error(why: string): SyntaxError {
    return new SyntaxError(`EDN, character ${this.#at}: ${why}`)
  }
}
