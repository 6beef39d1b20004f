/** Reads a history of Jepsen's back into operations, and refuses one that no test of Jepsen's can have made. */
import { type Read, readEdn } from './edn-reader.ts'

export interface ReadOp {
  readonly process: number
  readonly f: string
  readonly call: number
  /** Infinity: nobody knows. */
  readonly answered: number
  readonly type: 'ok' | 'fail' | 'info'
  readonly value: Read
}

/** A process does one thing at a time, and nothing more after an `:info`. */
export function readJepsen(text: string): ReadOp[] {
  const pending = new Map<number, { readonly f: string; readonly at: number }>()
  const crashed = new Set<number>()
  const ops: ReadOp[] = []
  let last = Number.NEGATIVE_INFINITY
  for (const [at, form] of readEdn(text).entries()) {
    const { ':index': index, ':type': type, ':f': f, ':process': process, ':time': time, ':value': value } = form as Map
    if (index !== at) throw new Error(`operation ${at} has the index ${JSON.stringify(index)}`)
    if (typeof process !== 'number' || typeof f !== 'string' || typeof time !== 'number') throw new Error(`at ${at}`)
    if (time < last) throw new Error(`the time of operation ${at} goes back`)
    last = time
    const open = pending.get(process)
    if (type === ':invoke') {
      if (open !== undefined || crashed.has(process)) throw new Error(`process ${process} can't do ${f} at ${at}`)
      pending.set(process, { f, at })
      continue
    }
    if (open === undefined || open.f !== f) throw new Error(`process ${process} was not asked for ${f} at ${at}`)
    pending.delete(process)
    if (type === ':info') crashed.add(process)
    const answered = type === ':info' ? Number.POSITIVE_INFINITY : at
    ops.push({ process, f, call: open.at, answered, type: kind(type), value: value ?? null })
  }
  return ops.sort((a, b) => a.call - b.call)
}

type Map = Readonly<Record<string, Read>>

function kind(type: Read | undefined): ReadOp['type'] {
  if (type === ':ok' || type === ':fail' || type === ':info') return type.slice(1) as ReadOp['type']
  throw new Error(`there is no type ${JSON.stringify(type)}`)
}
