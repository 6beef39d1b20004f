/**
 * What src/drivers/redlock/lua does on one server, in TypeScript, for the simulation. Small, and compared with the real
 * scripts on a real server by test/real/redlock/model.test.ts: the same requests must get the same answers and pushes.
 */

export interface Pushed {
  readonly inbox: string
  readonly message: string
}

interface Place {
  readonly id: string
  readonly priority: number
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  readonly inbox: string
  lapse: number
  voted: boolean
  token: number
  fixed: boolean
  round: number
  broken: 0 | 1 | 2
}

interface Line {
  last: number
  places: Place[]
  graves: { readonly id: string; readonly until: number }[]
  disowned: { readonly inbox: string; readonly round: number; readonly until: number }[]
  keepUntil: number
}

interface Marker {
  readonly run: string
  readonly longestMs: number
  silentUntil: number
  latest: number
}

type Argument = string | number | Buffer
const AHEAD_US = 60_000_000
const TICK_MS = 100
const STEP_BACK_MS = 250

export class Model {
  run: string
  marker: Marker | null = null
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
      case 'enter':
        return this.#enter(keys[1] as string, text)
      case 'touch':
        return this.#touch(keys.slice(1), text)
      case 'leave':
        return this.#leave(keys[1] as string, text)
      case 'disown':
        return this.#disown(keys[1] as string, text)
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
    this.#lines.clear()
  }

  crowd(micros: number): number {
    let count = 0
    for (const line of this.#lines.values()) {
      count += line.places.filter(({ lapse }) => lapse > Math.floor(micros / 1_000)).length
    }
    return count
  }

  #silence(run: string, longestMs: number): number {
    const { marker } = this
    const now = this.#now
    if (marker === null || marker.run !== run) {
      if (run !== '') return -1
      if (marker === null || marker.run !== this.run) return this.#keepQuiet(marker?.longestMs ?? longestMs)
    }
    const known = marker as Marker
    if (now < known.latest - STEP_BACK_MS) return this.#keepQuiet(known.longestMs)
    if (now > known.latest + TICK_MS) known.latest = now
    return Math.max(0, known.silentUntil - now)
  }

  #keepQuiet(longestMs: number): number {
    this.marker = { run: this.run, longestMs, silentUntil: this.#now + longestMs, latest: this.#now }
    return longestMs
  }

  #hello([mode, given]: readonly string[]): unknown[] {
    const before = this.marker
    const longestMs = before?.longestMs ?? Number(given)
    let isOurs = before?.run === this.run
    if (!isOurs && mode !== 'look') {
      const isFirst = mode === 'init' && before === null
      this.#keepQuiet(longestMs)
      if (isFirst && this.marker !== null) this.marker.silentUntil = 0
      isOurs = true
    }
    const left = isOurs ? this.#silence(this.run, longestMs) : -1
    const told = before === null && mode === 'look' ? 0 : longestMs
    return [this.#micros, left, this.run, told, before === null ? 0 : 1, isOurs ? 1 : 0]
  }

  #quarantine([run, longestMs]: readonly string[]): unknown[] {
    const left = this.#silence(String(run), Number(longestMs))
    if (left < 0 || this.marker === null) return [this.#micros, left]
    return [this.#micros, this.#keepQuiet(this.marker.longestMs)]
  }

  #enter(key: string, args: readonly string[]): unknown[] {
    const [
      run = '',
      longest = '',
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
    const left = this.#silence(run, Number(longest))
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
      place.round = Math.max(place.round, Number(round))
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
    const [run = '', longest = '', retention = '', ...rest] = args
    const left = this.#silence(run, Number(longest))
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
    const [run = '', longest = '', retention = '', id = '', ttl = '', doubted = '', stays = '', round = ''] = args
    const left = this.#silence(run, Number(longest))
    const line = this.#load(key)
    const place = line.places.find((one) => one.id === id)
    if (place !== undefined && Number(stays) > 0) {
      place.broken = 2
      place.lapse = this.#now + 1 + Number(stays)
    } else if (place === undefined || (place.broken !== 2 && place.round <= Number(round))) {
      line.places = line.places.filter((one) => one !== place)
      if (place === undefined || doubted === '1') this.#bury(line, id, Number(ttl))
    }
    if (left === 0) this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, left, place === undefined ? 0 : 1]
  }

  #disown(key: string, args: readonly string[]): unknown[] {
    const [run = '', longest = '', retention = '', inbox = '', ttl = '', ended = '', ...given] = args
    const left = this.#silence(run, Number(longest))
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
    const kept = line.places.filter(({ id, broken, round: its }) => broken === 2 || its > (rounds.get(id) ?? -1))
    const removed = line.places.length - kept.length
    line.places = kept
    if (left === 0) this.#settle(line, '')
    this.#save(key, line, Number(retention))
    return [this.#micros, left, removed]
  }

  #yield(key: string, args: readonly string[]): unknown[] {
    const [run = '', longest = '', retention = '', id = '', round = ''] = args
    const left = this.#silence(run, Number(longest))
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
    const [run = '', longest = '', retention = '', atOnce = ''] = args
    const left = this.#silence(run, Number(longest))
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
