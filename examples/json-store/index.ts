/**
 * A store for learning: lines of places in a JSON file, for the tasks of one process. Every step reads the file,
 * changes what it read and puts a new file in its place, without a pause in between, so that no other task sees half of
 * it. The default export is what `holdfast/conformance` asks for: `(config) => Driver`.
 */
import type { CellView, Change, Driver, Entry, LineView, Place, Stop, Traits, Wake } from 'holdfast'
import { CapacityMismatchError } from 'holdfast'
import { type Cell, type Line, openFile, type State, type StoredPlace } from './file.ts'
import { aheadOf, holdersOf, settle, weightIn } from './line.ts'
import { watchersOf } from './wakeups.ts'

const TRAITS: Traits = {
  fair: true,
  fenced: true,
  counting: true,
  push: 'answer',
  ttlMsMin: 1,
  lingers: true,
  scope: 'process',
  safety: 'Holds between the tasks of one process. Other processes must not use the file.',
}
/** How long a deleted cell is remembered, so that a repeated delete learns that it has succeeded. */
const DELETED_MS = 600_000

export interface JsonStoreOptions {
  /** The file; made when it is not there. */
  readonly path: string
}

export default function jsonStore({ path }: JsonStoreOptions): Driver {
  const watchers = watchersOf(path)

  /** One step on the file. What has become granted or was broken by it is told afterwards. */
  function step<T>(work: (state: State, now: number) => T): T {
    // A clock that never goes back while the process runs, and goes on where the last process ended.
    const now = performance.timeOrigin + performance.now()
    const { state, save } = openFile(path)
    const before = new Map([...state.lines.values()].flatMap(({ places }) => places.map((one) => [one.id, { ...one }])))
    for (const line of state.lines.values()) settle(line, ({ lapsesAt }) => lapsesAt > now)
    const result = work(state, now)
    for (const [name, line] of state.lines) {
      settle(line)
      if (line.places.length === 0) state.lines.delete(name)
    }
    for (const [id, until] of state.dead) if (until <= now) state.dead.delete(id)
    save()
    tellChanges(before, state)
    return result
  }

  function tellChanges(before: ReadonlyMap<string, StoredPlace>, state: State): void {
    const places = [...state.lines].flatMap(([name, line]) => line.places.map((place) => ({ name, place })))
    const after = new Map(places.map(({ place }) => [place.id, place]))
    const changed = new Set<string>()
    for (const { name, place } of places) {
      const was = before.get(place.id)
      if (was === undefined || was.granted !== place.granted || was.broken !== place.broken) changed.add(name)
      if (was?.granted === false && place.granted) watchers.wake(place.id, { id: place.id, token: BigInt(place.token) })
      if (was?.broken === false && place.broken) watchers.wake(place.id)
    }
    for (const [id, was] of before) {
      if (after.has(id)) continue
      changed.add(was.line)
      watchers.wake(id)
    }
    for (const line of changed) watchers.wakeLine(line)
  }

  return {
    name: 'json',
    traits: TRAITS,

    async enter(entry: Entry, wait: boolean): Promise<Place | null> {
      const since = { monoMs: performance.now(), wallMs: Date.now() }
      return step((state, now) => {
        const line = state.lines.get(entry.line) ?? { capacity: entry.capacity, places: [], raised: null }
        const present = line.places.find(({ id }) => id === entry.id)
        if (present !== undefined) return renew(line, present, now, since)
        if (state.dead.has(entry.id)) return null
        if (line.places.length > 0 && line.capacity !== entry.capacity) {
          const given = `${JSON.stringify(entry.line)} has capacity ${line.capacity}, asked for ${entry.capacity}`
          throw new CapacityMismatchError(`lock ${given}`, { line: entry.line })
        }
        const { id, weight, ttlMs, data } = entry
        const token = state.counter + 1
        const times = { enteredAt: now, lapsesAt: now + ttlMs }
        const marks = { granted: false, broken: false, turn: 0 }
        const place: StoredPlace = { id, line: entry.line, token, weight, ttlMs, data, ...times, ...marks }
        place.granted = aheadOf(line, place) + weight <= entry.capacity
        if (!place.granted && !wait) return null
        state.counter = token
        state.lines.set(entry.line, { ...line, capacity: entry.capacity, places: [...line.places, place] })
        return answer(line, place, now, since)
      })
    },

    async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
      const since = { monoMs: performance.now(), wallMs: Date.now() }
      return step((state, now) =>
        entries.map((entry) => {
          const line = state.lines.get(entry.line)
          const place = line?.places.find(({ id }) => id === entry.id)
          return line === undefined || place === undefined ? null : renew(line, place, now, since)
        }),
      )
    },

    async leave(entry: Entry, afterMs = 0): Promise<void> {
      step((state, now) => {
        const line = state.lines.get(entry.line)
        const place = line?.places.find(({ id }) => id === entry.id)
        // A request to enter may still be under way: when it comes, it must find that it is too late.
        state.dead.set(entry.id, now + entry.ttlMs)
        if (line === undefined || place === undefined || place.broken) return
        if (afterMs > 0) Object.assign(place, { broken: true, lapsesAt: now + afterMs })
        else line.places = line.places.filter((other) => other !== place)
      })
    },

    watch(line: string, id: string | null, wake: Wake): Stop {
      return watchers.add(line, id, wake)
    },

    async *list(prefix: string): AsyncGenerator<LineView> {
      const seen = step(({ lines }, now) =>
        [...lines]
          .filter(([name, { places }]) => name.startsWith(prefix) && places.length > 0)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, line]) => {
            const held = new Set(holdersOf(line))
            const show = (places: readonly StoredPlace[]) =>
              places.map((place) => viewOf(place, weightIn(line, place), now))
            const holders = show(line.places.filter((place) => held.has(place)))
            const waiters = show(line.places.filter((place) => !held.has(place)))
            return { name, capacity: line.capacity, holders, waiters }
          }),
      )
      yield* seen
    },

    async swap(key: string, change: Change | null): Promise<CellView> {
      return step((state, now) => {
        const found = state.cells.get(key)
        const cell = found === undefined || (found.lapsesAt !== null && found.lapsesAt <= now) ? undefined : found
        if (cell === undefined) state.cells.delete(key)
        const view = cellView(cell)
        if (change === null || cell?.nonce === change.nonce || view.version !== change.version) return view
        const lapsesAt = change.next === null ? now + DELETED_MS : change.ttlMs === 0 ? null : now + change.ttlMs
        const next: Cell = { version: ++state.counter, value: change.next, nonce: change.nonce, lapsesAt }
        state.cells.set(key, next)
        return cellView(next)
      })
    },

    async break(name: string, now: boolean): Promise<number> {
      return step(({ lines }) => {
        const line = lines.get(name)
        const holders = line === undefined ? [] : holdersOf(line)
        for (const place of holders) place.broken = true
        if (line !== undefined && now) line.places = line.places.filter((place) => !holders.includes(place))
        return holders.length
      })
    },

    /**
     * Heavier: nobody else is granted; those granted already count in its `ahead` until they go. Lighter: it is over.
     */
    async reweigh(entry: Entry, turn: number): Promise<Place | null> {
      const since = { monoMs: performance.now(), wallMs: Date.now() }
      return step((state, now) => {
        const line = state.lines.get(entry.line)
        const place = line?.places.find(({ id }) => id === entry.id)
        if (line === undefined || place === undefined || place.broken) return null
        if (turn > place.turn) {
          place.turn = turn
          const isHeavier = entry.weight > place.weight
          const beside = holdersOf(line).at(-1)?.token ?? place.token
          line.raised = isHeavier ? { id: place.id, weight: entry.weight, beside } : null
          place.granted = !isHeavier || aheadOf(line, place) === 0
        }
        return renew(line, place, now, since)
      })
    },

    async close(): Promise<void> {},
  }
}

function renew(line: Line, place: StoredPlace, now: number, since: Place['since']): Place | null {
  if (place.broken) return null
  place.lapsesAt = now + place.ttlMs
  return answer(line, place, now, since)
}

function answer(line: Line, place: StoredPlace, now: number, since: Place['since']): Place {
  const others = line.places.filter((other) => other !== place)
  const ahead = aheadOf(line, place)
  return {
    token: BigInt(place.token),
    ahead,
    recheckMs: ahead === 0 ? null : Math.min(...others.map(({ lapsesAt }) => lapsesAt)) - now,
    since,
    wanted: others.some(({ granted }) => !granted),
  }
}

function viewOf(place: StoredPlace, weight: number, now: number): LineView['holders'][number] {
  const { token, data, enteredAt, lapsesAt } = place
  const { holds, ...who } = JSON.parse(data) as { label: string; host: string; pid: number; holds?: [string, string][] }
  const held = holds?.map(([line, root]) => ({ line, token: BigInt(root) }))
  const times = { ageMs: Math.round(now - enteredAt), leftMs: Math.round(lapsesAt - now) }
  return { token: BigInt(token), weight, ...times, ...who, ...(held === undefined ? {} : { holds: held }) }
}

function cellView(cell: Cell | undefined): CellView {
  if (cell === undefined) return { version: 0n, value: null, nonce: null }
  return { version: cell.value === null ? 0n : BigInt(cell.version), value: cell.value, nonce: cell.nonce }
}
