/**
 * The names of keys and channels. A line's keys share one hash tag, which is the whole name: they live in one slot of a
 * cluster.
 */

export class Keys {
  readonly prefix: string

  constructor(prefix: string) {
    this.prefix = prefix
  }

  /** The line and its queue, as every script of lines wants them. */
  line(name: string): [line: string, queue: string] {
    const key = `${this.prefix}:{${escaped(name)}}`
    return [key, `${key}:q`]
  }

  cell(name: string): string {
    return `${this.prefix}:{${escaped(name)}}:c`
  }

  bucket(name: string): string {
    return `${this.prefix}:{${escaped(name)}}:t`
  }

  /** Where changes of a line are published while somebody observes it. */
  observers(name: string): string {
    return `${this.prefix}:{${escaped(name)}}:o`
  }

  /** Where a process hears of its places. The scripts make the same name from the key of the line. */
  inbox(id: string): string {
    return `${this.prefix}:inbox:${id}`
  }

  /**
   * A pattern for SCAN: the lines whose names begin so, and nothing else of ours.
   * @param keyPrefix what the client puts before every key by itself.
   */
  pattern(namePrefix: string, keyPrefix = ''): string {
    return `${literally(keyPrefix + this.prefix)}:{${literally(escaped(namePrefix))}*}`
  }

  /** The name behind a line's key; null for any other key. */
  nameOf(key: string): string | null {
    const start = `${this.prefix}:{`
    if (!key.startsWith(start) || key.indexOf('}') !== key.length - 1) return null
    return key.slice(start.length, -1).replace(/%7D|%25/g, (code) => (code === '%25' ? '%' : '}'))
  }
}

/** Redis takes what stands between the first { and the first } behind it: no name may bring a } of its own. */
function escaped(name: string): string {
  return /[%}]/.test(name) ? name.replace(/[%}]/g, (char) => (char === '%' ? '%25' : '%7D')) : name
}

/** For a pattern in which nothing is special. */
function literally(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&')
}
