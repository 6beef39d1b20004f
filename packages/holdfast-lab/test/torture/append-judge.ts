/**
 * A small judge of list-append histories, after the paper on Elle: what each list can have been follows from what was
 * read of it, and from that who came before whom. A circle of those is a history that no order explains.
 */
import type { Read } from './edn-reader.ts'
import type { ReadOp } from './jepsen-reader.ts'

interface Micro {
  readonly f: string
  readonly key: number
  readonly value: Read
}

/** What is wrong with a history, in words; empty: nothing. */
export function judgeAppends(ops: readonly ReadOp[]): string[] {
  const done = ops.filter(({ type }) => type === 'ok').map(({ value }) => (value as Read[][]).map(micro))
  const wrong: string[] = []
  const appender = new Map<string, number>()
  const longest = new Map<number, readonly Read[]>()
  for (const [txn, micros] of done.entries()) {
    for (const { f, key, value } of micros) {
      if (f !== ':append') continue
      if (appender.has(`${key} ${JSON.stringify(value)}`))
        wrong.push(`${JSON.stringify(value)} was added twice to ${key}`)
      appender.set(`${key} ${JSON.stringify(value)}`, txn)
    }
  }
  for (const micros of done) {
    for (const { f, key, value } of micros) {
      if (f !== ':r') continue
      const known = longest.get(key) ?? []
      const list = value as readonly Read[]
      const [short, long] = list.length < known.length ? [list, known] : [known, list]
      if (short.some((element, at) => element !== long[at])) wrong.push(`list ${key} was read in two ways`)
      longest.set(key, long)
    }
  }
  const after = done.map(() => new Set<number>())
  const edge = (from: number | undefined, to: number | undefined): void => {
    if (from !== undefined && to !== undefined && from !== to) after[from]?.add(to)
  }
  const byElement = (key: number, element: Read | undefined): number | undefined =>
    element === undefined ? undefined : appender.get(`${key} ${JSON.stringify(element)}`)
  for (const [key, list] of longest) {
    for (const [at, element] of list.entries()) {
      if (byElement(key, element) === undefined)
        wrong.push(`${JSON.stringify(element)} was read of ${key}, and added by nobody`)
      if (at > 0) edge(byElement(key, list[at - 1]), byElement(key, element))
    }
  }
  for (const [txn, micros] of done.entries()) {
    for (const { f, key, value } of micros) {
      if (f !== ':r') continue
      const list = value as readonly Read[]
      edge(byElement(key, list.at(-1)), txn)
      edge(txn, byElement(key, longest.get(key)?.[list.length]))
    }
  }
  const circle = findCircle(after)
  if (circle !== null) wrong.push(`each of these came before the next: ${circle.join(', ')}`)
  return wrong
}

function micro(form: Read): Micro {
  const [f, key, value] = form as Read[]
  return { f: f as string, key: key as number, value: value ?? null }
}

/** Depth first, without recursion: histories are long. */
function findCircle(after: readonly ReadonlySet<number>[]): number[] | null {
  const colour = new Uint8Array(after.length)
  for (const root of after.keys()) {
    if (colour[root] !== 0) continue
    const path: { readonly at: number; readonly rest: Iterator<number> }[] = []
    const enter = (at: number): void => {
      colour[at] = 1
      path.push({ at, rest: (after[at] as ReadonlySet<number>).values() })
    }
    enter(root)
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { value: next, done } = top.rest.next()
      if (done === true) {
        colour[top.at] = 2
        path.pop()
      } else if (colour[next] === 1) {
        const ats = path.map(({ at }) => at)
        return ats.slice(ats.indexOf(next))
      } else if (colour[next] === 0) enter(next)
    }
  }
  return null
}
