/** What the lock protects, as the function sees it: every method is a call to somewhere else, and is noted. */
import { inspect } from 'node:util'
import type { Actor, Grant } from './actor.ts'
import { callSite, type Site } from './awaits.ts'
import type { RehearseOptions } from './options.ts'

export interface Call {
  readonly actor: Actor
  /** `put`, or `bucket.put` of an object in the resource. */
  readonly method: string
  readonly args: readonly unknown[]
  readonly site: Site
  readonly sentMs: number
  /** The locks that its actor had when the call was sent, even released ones: the newest grant of each lock. */
  readonly grants: readonly Grant[]
  /** It held a lock, as far as it knew. */
  readonly isHeld: boolean
  readonly kind: 'read' | 'effect' | 'harmless'
  /** When the resource saw it; null: it is under way. */
  seenMs: number | null
  /** refused: the resource threw. */
  outcome: 'under way' | 'accepted' | 'refused'
  answer: unknown
}

/** The methods of a resource, all of them asynchronous. */
export type Remote<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<Awaited<R>>
    : T[K] extends object
      ? Remote<T[K]>
      : T[K]
}

export class Calls {
  /** In the order in which they were sent, and in which the resource saw them. */
  readonly sent: Call[] = []
  readonly seen: Call[] = []
  /** How many calls the resource works on now, by the real clock. */
  busy = 0
  /** Called just after each call was sent: now its sender may be paused. */
  onSent: ((call: Call) => void) | null = null
  readonly #reads: ReadonlySet<string>
  readonly #harmless: ReadonlySet<string>

  constructor({ reads = [], harmless = [] }: Pick<RehearseOptions<object>, 'reads' | 'harmless'>) {
    this.#reads = new Set(reads)
    this.#harmless = new Set(harmless)
  }

  /** The resource for one actor. */
  remote<T extends object>(resource: T, actor: Actor, path = ''): Remote<T> {
    return new Proxy(resource, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof key === 'symbol' || value === null) return value
        if (typeof value === 'object') return this.remote(value, actor, `${path}${key}.`)
        if (typeof value !== 'function') return value
        const method = (...args: readonly unknown[]): Promise<unknown> => {
          const call = this.#send(actor, `${path}${key}`, args, callSite(method))
          return actor.ask(() => this.#see(call, () => Reflect.apply(value, target, args) as unknown))
        }
        return method
      },
    }) as Remote<T>
  }

  #send(actor: Actor, method: string, args: readonly unknown[], site: Site): Call {
    const grants = newest(actor)
    const call: Call = {
      actor,
      method,
      args,
      site,
      sentMs: actor.now(),
      grants,
      isHeld: grants.some(({ leftMs }) => leftMs === null),
      kind: this.#reads.has(method) ? 'read' : this.#harmless.has(method) ? 'harmless' : 'effect',
      seenMs: null,
      outcome: 'under way',
      answer: undefined,
    }
    this.sent.push(call)
    this.onSent?.(call)
    return call
  }

  async #see(call: Call, act: () => unknown): Promise<unknown> {
    call.seenMs = call.actor.world.now
    this.seen.push(call)
    this.busy++
    try {
      call.answer = await act()
      call.outcome = 'accepted'
      return call.answer
    } catch (error) {
      call.answer = error
      call.outcome = 'refused'
      throw error
    } finally {
      this.busy--
    }
  }
}

/** The last grant of each lock. */
function newest(actor: Actor): Grant[] {
  const byLine = new Map<string, Grant>()
  for (const grant of actor.grants.values()) {
    const known = byLine.get(grant.entry.line)
    if (known === undefined || known.token < grant.token) byLine.set(grant.entry.line, grant)
  }
  return [...byLine.values()]
}

/** `sell(6)`. */
export function shownCall({ method, args }: Pick<Call, 'method' | 'args'>): string {
  return `${method}(${args.map(shown).join(', ')})`
}

export function shown(value: unknown): string {
  if (value instanceof Error) return value.name
  const text = inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 24 })
  return text.length > 48 ? `${text.slice(0, 47)}…` : text
}
