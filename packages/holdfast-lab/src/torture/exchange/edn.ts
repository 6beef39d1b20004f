/** Writes EDN, the notation of Clojure, as far as histories need it. */

export type Edn = string | number | null | Keyword | readonly Edn[] | EdnMap

export interface EdnMap {
  readonly [key: string]: Edn
}

/** A name of Clojure's: `:ok`. */
export class Keyword {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

export function keyword(name: string): Keyword {
  return new Keyword(name)
}

/** The keys of a map become keywords. */
export function edn(value: Edn): string {
  if (value === null) return 'nil'
  if (value instanceof Keyword) return `:${value.name}`
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return String(value)
  if (isList(value)) return `[${value.map(edn).join(' ')}]`
  const pairs = Object.entries(value).map(([key, each]) => `:${key} ${edn(each)}`)
  return `{${pairs.join(', ')}}`
}

function isList(value: readonly Edn[] | EdnMap): value is readonly Edn[] {
  return Array.isArray(value)
}
