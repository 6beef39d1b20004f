/**
 * What the console has seen of each lock: who held it when, and what happened. Bounded: the least recent goes first.
 */
import { Ring } from './ring.ts'
import type { Happening, Span } from './wire.ts'

const LOCKS_MAX = 1_000
const SPANS_MAX = 100
const EVENTS_MAX = 100

interface Story {
  readonly spans: Ring<Span>
  readonly events: Ring<Happening>
  handovers: number
}

export class Past {
  readonly #stories = new Map<string, Story>()

  /** Somebody has held the lock. */
  held(lock: string, span: Span): void {
    this.#of(lock).spans.add(span)
  }

  tell(event: Happening): void {
    const story = this.#of(event.lock)
    story.events.add(event)
    if (event.kind === 'handed over' || event.kind === 'elected') story.handovers++
  }

  handovers(lock: string): number {
    return this.#stories.get(lock)?.handovers ?? 0
  }

  spans(lock: string): readonly Span[] {
    return this.#stories.get(lock)?.spans.all() ?? []
  }

  events(lock: string): readonly Happening[] {
    return this.#stories.get(lock)?.events.all() ?? []
  }

  #of(lock: string): Story {
    const known = this.#stories.get(lock)
    const story = known ?? { spans: new Ring<Span>(SPANS_MAX), events: new Ring<Happening>(EVENTS_MAX), handovers: 0 }
    // Deleted and set again, because the first entry of the map must be the least recently used.
    this.#stories.delete(lock)
    this.#stories.set(lock, story)
    if (this.#stories.size > LOCKS_MAX) this.#stories.delete(this.#stories.keys().next().value as string)
    return story
  }
}
