/**
 * The short ways of enter and leave do what the general way does: random steps on two lines, one by each, are compared.
 */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BREAK, ENTER, LEAVE, OBSERVE, REWEIGH, TOUCH, VIEW } from '../../../src/stores/redis/scripts.generated.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

const RUNS = 12
const STEPS = 100
/** Nothing lapses meanwhile. */
const TTL_MS = 600_000

let bed: Testbed
let client: Redis
let listener: Redis

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  const { port } = await bed.redis()
  client = new Redis(port, '127.0.0.1')
  listener = new Redis(port, '127.0.0.1')
})

afterAll(async () => {
  client?.disconnect()
  listener?.disconnect()
  await bed?.close()
})

/** A script whose short ways are never taken. */
function general(lua: string): string {
  const text = lua.replaceAll(/(?:string\.)?sub\(\w+,1,3\)=='hf[012]'/g, 'false')
  expect(text).not.toBe(lua)
  return text
}

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x8000_0000) * below)
  }
}

const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0')
const idOf = (n: number): string => String(n).padStart(32, '0')

function sentOf(n: number, capacity: number): string {
  const weight = capacity === 3 ? 1 + (n % 3) : n % 3 === 0 ? capacity : 1
  return `${hex(capacity, 5)}${hex(TTL_MS, 7)}${hex(weight, 5)}0${idOf(n)}inbox000000${n % 3}{}`
}

/** Tokens are times: the two lines have different ones, in the same order. */
class Side {
  readonly name: string
  readonly scripts: Record<string, string>
  readonly heard: string[] = []
  readonly #tokens = new Map<string, number>()

  constructor(name: string, scripts: Record<string, string>) {
    this.name = name
    this.scripts = scripts
  }

  rank(token: unknown): number {
    const text = String(token)
    if (!this.#tokens.has(text)) this.#tokens.set(text, this.#tokens.size)
    return this.#tokens.get(text) as number
  }

  hear(channel: string, message: string): void {
    const items = message.split(',').map((item) => {
      const [id, token] = item.split(' ')
      return token === undefined ? id : `${id}#${this.rank(token)}`
    })
    this.heard.push(`${channel.slice(1)} ${items.join(',')}`)
  }

  place(reply: unknown): unknown {
    if (!Array.isArray(reply)) return reply === null ? null : [this.rank(reply), 0, -1, 0]
    const [token, ahead, recheckMs, wanted] = reply as number[]
    return token === -1 ? reply : [this.rank(token), ahead, (recheckMs as number) < 0 ? -1 : 'some', wanted]
  }

  async step(kind: string, lines: number, args: readonly (string | number)[]): Promise<string> {
    const [line, queue] = [`${this.name}:{x}`, `${this.name}:{x}:q`]
    const keys = Array.from({ length: lines }, () => [line, queue]).flat()
    const reply: unknown = await client.eval(this.scripts[kind] as string, keys.length, ...keys, ...args)
    const isPlaces = kind !== 'leave' && kind !== 'observe' && kind !== 'break'
    const said = !isPlaces
      ? reply
      : kind !== 'touch' && lines === 1
        ? [this.place(reply)]
        : (reply as unknown[]).map((item) => this.place(item))
    const [view] = (await client.eval(VIEW, 2, line, queue, 1_000)) as [[number, unknown[][]] | null]
    const places = view?.[1].map(([token, weight]) => [this.rank(token), weight])
    return JSON.stringify({ said, places, fields: await client.hlen(queue) })
  }
}

test('short and general ways answer, keep and push the same', async () => {
  const seed = Date.now() % 1_000_000
  const random = randomOf(seed)
  const rest = { touch: TOUCH, observe: OBSERVE, break: BREAK, reweigh: REWEIGH }
  let sides: readonly Side[] = []
  listener.on('pmessage', (_pattern, channel: string, message: string) =>
    sides.find(({ name }) => channel.startsWith(name))?.hear(channel, message),
  )
  await listener.psubscribe('*')
  for (let run = 0; run < RUNS; run++) {
    await client.flushall()
    sides = [
      new Side('s', { ...rest, enter: ENTER, leave: LEAVE }),
      new Side('g', { ...rest, enter: general(ENTER), leave: general(LEAVE) }),
    ]
    const capacity = [1, 1, 1, 1_000_000, 3][random(5)] as number
    const present: number[] = []
    let last = 0
    const another = (): number =>
      random(12) === 0 && present.length > 0
        ? (present[random(present.length)] as number)
        : (present.push(++last), last)
    const gone = (): number => {
      if (present.length === 0 || random(15) === 0) return ++last
      return present.splice(random(3) === 0 ? random(present.length) : 0, 1)[0] as number
    }
    for (let step = 0; step < STEPS; step++) {
      const lines = random(4) === 0 ? 1 + random(4) : 1
      const dice = random(40)
      const all = (one: () => number): number[] => Array.from({ length: lines }, one)
      const [kind, count, args]: [string, number, (string | number)[]] =
        dice < 18
          ? [
              'enter',
              lines,
              [TTL_MS, 2 * TTL_MS, random(6) === 0 ? 0 : 1, ...all(another).map((n) => sentOf(n, capacity))],
            ]
          : dice < 36
            ? ['leave', lines, [TTL_MS, TTL_MS, '', ...all(gone).map((n) => `0${idOf(n)}`)]]
            : dice < 38
              ? random(2) === 0 || capacity < 1_000_000
                ? ['touch', 1, [TTL_MS, Math.min(3, present.length), ...present.slice(0, 3).map(idOf)]]
                : [
                    'reweigh',
                    1,
                    [idOf(present[random(3)] ?? 0), hex(random(2) === 0 ? 1 : capacity, 5), hex(step, 8), TTL_MS],
                  ]
              : dice === 38 && random(4) === 0
                ? ['observe', 1, [TTL_MS, TTL_MS]]
                : // A place that is only broken stays for good here: few are.
                  ['break', 1, [random(8) === 0 ? 0 : 1, TTL_MS]]
      const [short, long] = [await sides[0]?.step(kind, count, args), await sides[1]?.step(kind, count, args)]
      expect(short, `seed ${seed}, run ${run}, step ${step}: ${kind} ${args.join(' ')}`).toBe(long)
    }
    // Messages come in their order: after these, none of this run is on its way.
    for (const { name } of sides) await client.publish(`${name}:end`, '')
    await expect
      .poll(() => sides.every(({ heard }) => heard.at(-1)?.startsWith(':end')), { timeout: 30_000 })
      .toBe(true)
    expect(sides[0]?.heard, `seed ${seed}, run ${run}`).toEqual(sides[1]?.heard)
  }
})
