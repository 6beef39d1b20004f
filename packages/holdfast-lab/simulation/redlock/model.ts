/**
 * What packages/holdfast/src/stores/redlock/lua does on one server, in TypeScript, for the simulation. Small, and
 * compared with the real scripts on a real server by packages/holdfast-lab/test/simulation/redlock-model.real.test.ts:
 * the same requests must get the same answers and pushes.
 */
import { ModelCells } from './model-cells.ts'
import type { Line, Marker, Place, Pushed } from './model-state.ts'

type Argument = string | number | Buffer
const AHEAD_US = 60_000_000
const TICK_MS = 100
const STEP_BACK_MS = 250

export class Model {
  run: string
  marker: Marker | null = null
  /** The deployment as text, and since when (ms). */
  servers: { readonly text: string; readonly since: number } = { text: '', since: 0 }
  readonly #cells = new ModelCells()
  pushes: Pushed[] = []
  readonly #lines = new Map<string, Line>()
  #micros = 0

  constructor(run: string) {
    this.run = run
  }

  get #now(): number {
    return Math.floor(this.#micros / 1_000)
  }

  /** One script. `keys` and `args` as they are sent; the marker is the first key. */
  step(step: string, keys: readonly string[], args: readonly Argument[], micros: number): unknown[] {
    this.#micros = micros
    const text = args.map(String)
    switch (step) {
      case 'hello':
        return this.#hello(text)
      case 'adopt':
        return this.#adopt(keys[1] as string, text)
      case 'prepare':
      case 'accept':
        return this.#ballot(step, keys[1] as string, text)
      case 'enter':
        return this.#enter(keys[1] as string, text)
      case 'touch':
        return this.#touch(keys.slice(1), text)
      case 'leave':
        return this.#leave(keys[1] as string, text)
      case 'bury':
        return this.#buryAll(keys[1] as string, text)
      case 'yield':
        return this.#yield(keys[1] as string, text)
      case 'break':
        return this.#break(keys[1] as string, text)
      case 'quarantine':
        return this.#quarantine(text)
      default:
        throw new Error(`not modelled: ${step}`)
    }
  }

  /** Everything is forgotten, as by a restart without data. */
  forget(): void {
    this.marker = null
    this.#cells.clear()
    this.#lines.clear()
  }

  crowd(micros: number): number {
    let count = 0
    for (const line of this.#lines.values()) {
      count += line.places.filter(({ lapse }) => lapse > Math.floor(micros / 1_000)).length
    }
    return count
  }

  #silence(seal: string, part: string): number {
    const { marker } = this
    const now = this.#now
    if (marker === null) return -1
    if (seal !== '') {
      if (marker.run + marker.part !== seal) return -1
    } else {
      if (marker.part !== part) return -1
      if (marker.run !== this.run) return this.#keepQuiet(marker)
    }
    if (now < marker.latest - STEP_BACK_MS) return this.#keepQuiet(marker)
    if (now > marker.latest + TICK_MS) marker.latest = now
    return Math.max(0, marker.silentUntil - now)
  }

  #keepQuiet({ part, longestMs }: Pick<Marker, 'part' | 'longestMs'>): number {
    this.marker = { run: this.run, part, longestMs, silentUntil: this.#now + longestMs, latest: this.#now }
    return longestMs
  }

  #hello([mode]: readonly string[]): unknown[] {
    const before = this.marker
    if (before === null) return [this.#micros, -1, this.run, 0, '', 0, '', 0]
    if (before.run !== this.run && mode === 'join') this.#keepQuiet(before)
    const left = this.marker?.run === this.run ? this.#silence(this.run + before.part, '') : -1
    const { text, since } = this.servers
    return [this.#micros, left, this.run, before.longestMs, before.part, this.#now - since, text, 0]
  }

  #adopt(decision: string, [from = '', to = '', longest = '', how = '', text = '']: readonly string[]): unknown[] {
    const before = this.marker
    if ((before?.part ?? '') !== from) return [this.#micros, 0]
    this.#keepQuiet({ part: to, longestMs: Number(longest) })
    if (this.marker !== null && how === 'free') this.marker.silentUntil = 0
    if (this.marker !== null && how === 'keep' && before?.run === this.run) this.marker.silentUntil = before.silentUntil
    this.servers = { text, since: this.#now }
    this.#cells.delete(decision)
    return [this.#micros, 1]
  }

  #ballot(step: 'prepare' | 'accept', key: string, [seal = '', part = '', ...args]: readonly string[]): unknown[] {
    const left = this.#silence(seal, part)
    return [this.#micros, left, ...(left === 0 ? this.#cells[step](key, args) : [])]
  }

  #quarantine([seal = '', part = '']: readonly string[]): unknown[] {
    const left = this.#silence(seal, part)
    if (left < 0 || this.marker === null) return [this.#micros, left]
    return [this.#micros, this.#keepQuiet(this.marker)]
  }

  #enter(key: string, args: readonly string[]): unknown[] {
    const [
      seal = '',
      part = '',
      retention = '',
      id = '',
      weight = '',
      capacity = '',
      ttl = '',
      priority = '',
      token = '',
      fixed = '',
      round = '',
      wait = '',
      inbox = '',
    ] = args
    const left = this.#silence(seal, part)
    if (left !== 0) return [this.#micros, left]
    const line = this.#load(key)
    const answer: unknown[] = [this.#micros, 0]
    let place = line.places.find((one) => one.id === id)
    const [oldest] = line.places
    const isLate =
      line.graves.some((grave) => grave.id === id) ||
      line.disowned.some((one) => one.inbox === inbox && Number(round) <= one.round)
    if (isLate || (place !== undefined && place.broken !== 0)) answer.push(-1)
    else if (oldest !== undefined && oldest.capacity !== Number(capacity)) answer.push(-2, oldest.capacity)
    else {
      const lapse = this.#now + 1 + Number(ttl)
      const isNew = place === undefined
      place ??= this.#insert(line, {
        id,
        priority: Number(priority),
        weight: Number(weight),
        capacity: Number(capacity),
        ttlMs: Number(ttl),
        inbox,
        lapse,
        voted: false,
        token: Number(token),
        fixed: fixed === '1',
        round: Number(round),
        broken: 0,
      })
      place.lapse = lapse
      if (Number(round) > place.round) {
        place.round = Number(round)
        if (!isNew && fixed === '0' && !place.fixed) this.#propose(line, place, Number(token))
      }
      this.#settle(line, id)
      if (!place.voted && wait === '0') {
        line.places = line.places.filter((one) => one.id !== id)
        answer.push(-3)
      } else {
        if (isNew && !place.voted) {
          for (const other of line.places) if (other.voted && isBefore(place, other)) this.#push(other, 'y')
        }
        this.#answer(line, place, answer)
      }
    }
    this.#save(key, line, Number(retention))
    return answer
  }

  #touch(keys: readonly string[], args: readonly string[]): unknown[] {
    const [seal = '', part = '', retention = '', ...rest] = args
    const left = this.#silence(seal, part)
    if (left !== 0) return [this.#micros, left]
    const answer: unknown[] = [this.#micros, 0]
    let at = 0
    for (const key of keys) {
      const line = this.#load(key)
      this.#settle(line, '')
      const count = Number(rest[at++])
      const places: (Place | null)[] = []
      for (let n = 0; n < count; n++, at += 4) {
        const [id = '', proposed = '', fixed = '', round = ''] = rest.slice(at, at + 4)
        const place = line.places.find((one) => one.id === id)
        places.push(place === undefined || place.broken !== 0 ? null : place)
        if (place === undefined || place.broken !== 0) continue
        place.lapse = this.#now + 1 + place.ttlMs
        if (Number(round) < place.round) continue
        place.round = Number(round)
        if (!place.voted) {
          place.token = Number(proposed)
          place.fixed = fixed === '1'
        } else if (fixed === '1') this.#raise(line, place, Number(proposed), true)
        else if (fixed === '2') this.#write(line, place, Number(proposed))
        else if (!place.fixed && Number(proposed) > line.last) this.#raise(line, place, Number(proposed), false)
      }
      for (const place of places) {
        if (place === null) answer.push(-1, 0, 0, 0, -1)
        else this.#answer(line, place, answer)
      }
      this.#save(key, line, Number(retention))
    }
    return answer
  }

  #leave(key: string, args: readonly string[]): unknown[] {
    const [seal = '', part = '', retention = '', id = '', ttl = '', doubted = '', stays = '', round = ''] = args
    const left = this.#silence(seal, part)
    const line = this.#load(key)
    const place = line.places.find((one) => one.id === id)
    if (place !== undefined && Number(stays) > 0 && place.broken !== 1) {
      place.broken = 2
      place.lapse = this.#now + 1 + Number(stays)
    } else if (place === undefined || (place.broken === 0 && place.round <= Number(round))) {
      line.places = line.places.filter((one) => one !== place)
      if (place === undefined || doubted === '1') this.#bury(line, id, Number(ttl))
    }
    if (left === 0) this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, left, place === undefined ? 0 : 1]
  }

  #buryAll(key: string, args: readonly string[]): unknown[] {
    const [seal = '', part = '', retention = '', inbox = '', ttl = '', ended = '', ...given] = args
    const left = this.#silence(seal, part)
    const line = this.#load(key)
    const rounds = new Map<string, number>()
    for (let i = 0; i < given.length; i += 2) {
      const [id = '', round = ''] = given.slice(i, i + 2)
      rounds.set(id, Number(round))
      if (Number(round) > Number(ended)) this.#bury(line, id, Number(ttl))
    }
    const before = line.disowned.find((one) => one.inbox === inbox)
    const round = Math.max(Number(ended), before?.round ?? 0)
    const until = Math.max(this.#now + 1 + Number(ttl), before?.until ?? 0)
    line.disowned = [...line.disowned.filter((one) => one !== before), { inbox, round, until }]
    const kept = line.places.filter(({ id, broken, round: its }) => broken !== 0 || its > (rounds.get(id) ?? -1))
    const removed = line.places.length - kept.length
    line.places = kept
    if (left === 0) this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, left, removed]
  }

  #yield(key: string, args: readonly string[]): unknown[] {
    const [seal = '', part = '', retention = '', id = '', round = ''] = args
    const left = this.#silence(seal, part)
    if (left !== 0) return [this.#micros, left, 0]
    const line = this.#load(key)
    const place = line.places.find((one) => one.id === id)
    const yields = place?.voted === true && place.round === Number(round)
    if (yields && place !== undefined) place.voted = false
    this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, 0, yields ? 1 : 0]
  }

  #break(key: string, args: readonly string[]): unknown[] {
    const [seal = '', part = '', retention = '', atOnce = ''] = args
    const left = this.#silence(seal, part)
    const line = this.#load(key)
    const broken = line.places.filter(({ voted }) => voted).toReversed()
    for (const place of broken) {
      place.broken = 1
      this.#push(place, 'b')
    }
    if (atOnce === '1') line.places = line.places.filter(({ voted }) => !voted)
    if (left === 0) this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, left, ...broken.map(({ id }) => id)]
  }

  /** As the server has it now: what has lapsed is gone. */
  #load(key: string): Line {
    const now = this.#now
    let line = this.#lines.get(key)
    if (line === undefined || line.keepUntil <= now)
      line = { last: 0, places: [], graves: [], disowned: [], keepUntil: 0 }
    line.places = line.places.filter(({ lapse }) => lapse > now)
    line.graves = line.graves.filter(({ until }) => until > now)
    line.disowned = line.disowned.filter(({ until }) => until > now)
    return line
  }

  #save(key: string, line: Line, retentionMs: number): void {
    const late = [...line.graves, ...line.disowned].map(({ until }) => until)
    line.keepUntil = Math.max(this.#now, ...line.places.map(({ lapse }) => lapse), ...late) + retentionMs
    this.#lines.set(key, line)
  }

  #insert(line: Line, place: Place): Place {
    line.places.push(place)
    line.places.sort((a, b) => (isBefore(a, b) ? -1 : 1))
    return place
  }

  #bury(line: Line, id: string, ttlMs: number): void {
    line.graves = line.graves.filter((grave) => grave.id !== id)
    line.graves.push({ id, until: this.#now + 1 + ttlMs })
  }

  #raise(line: Line, place: Place, proposed: number, isFixed: boolean): void {
    if (isFixed) {
      place.fixed = true
      place.token = proposed
    } else {
      place.token = proposed <= line.last || proposed > this.#micros + AHEAD_US ? line.last + 1 : proposed
    }
    line.last = Math.max(line.last, place.token)
  }

  /** A newer proposal of an owner that does not hold. */
  #propose(line: Line, place: Place, proposed: number): void {
    if (!place.voted) place.token = proposed
    else if (proposed > line.last) this.#raise(line, place, proposed, false)
  }

  /** What its owner would hold with, beside its vote. */
  #write(line: Line, place: Place, token: number): void {
    if (place.fixed || token < place.token) return
    place.token = token
    line.last = Math.max(line.last, token)
  }

  #settle(line: Line, asker: string): void {
    let used = line.places.reduce((sum, { voted, weight }) => sum + (voted ? weight : 0), 0)
    for (const place of line.places) {
      if (place.voted) continue
      if (used + place.weight > place.capacity) return
      used += place.weight
      place.voted = true
      this.#raise(line, place, place.token, place.fixed)
      if (place.id !== asker) this.#push(place, 'v')
    }
  }

  #push({ inbox, id }: Place, kind: 'v' | 'y' | 'b'): void {
    this.pushes.push({ inbox, message: kind + id })
  }

  #answer(line: Line, place: Place, answer: unknown[]): void {
    const others = line.places.filter((other) => other !== place)
    const waiting = others.filter(({ voted }) => !voted)
    const isRivalled = place.voted && waiting.some((other) => isBefore(other, place))
    const lapses = others.filter(({ voted }) => voted).map(({ lapse }) => lapse - this.#now)
    const earliest = lapses.length === 0 ? -1 : Math.min(...lapses)
    answer.push(place.voted ? 1 : 0, place.token, waiting.length > 0 ? 1 : 0, isRivalled ? 1 : 0, earliest)
  }
}

function isBefore(one: Place, other: Place): boolean {
  return one.priority < other.priority || (one.priority === other.priority && one.id < other.id)
}
