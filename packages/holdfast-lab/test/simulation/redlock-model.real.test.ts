/**
 * The simulation's model of the scripts says what the scripts say: random requests, on a real server and in the model.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { SCRIPTS } from '../../../holdfast/src/stores/redlock/scripts.ts'
import type { Step } from '../../../holdfast/src/stores/redlock/wire.ts'
import { Connection } from '../../../holdfast/src/clients/redis/connection.ts'
import { requireServers } from '../../src/testbed/require.ts'
import { testbed } from '../../src/testbed/testbed.ts'
import { Model } from '../../simulation/redlock/model.ts'
import { Rng } from '../../simulation/locks/rng.ts'

await requireServers(['redis'])
const bed = await testbed()
const server = await bed.redis()
const connection = new Connection({ port: server.port })
afterAll(async () => {
  await connection.close()
  await bed.close()
})

const RETENTION_MS = 120_000
const INBOXES = ['inboxinboxinbox0', 'inboxinboxinbox1']

class Twin {
  readonly #model: Model
  readonly #prefix: string
  readonly heard: string[] = []

  constructor(prefix: string, run: string) {
    this.#prefix = prefix
    this.#model = new Model(run)
  }

  get marker(): string {
    return `${this.#prefix}:redlock`
  }

  line(name: string): string {
    return `${this.#prefix}:{${name}}`
  }

  async listen(): Promise<void> {
    for (const inbox of INBOXES) {
      await connection.subscribe(`${this.marker}:${inbox}`, (message) => {
        for (const item of message.split(',').slice(1)) this.heard.push(`${inbox} ${item}`)
      })
    }
  }

  /** The real one first: its answer says when it was. */
  async step(
    step: Step,
    keys: readonly string[],
    args: readonly (string | number)[],
    what: string,
  ): Promise<unknown[]> {
    this.heard.length = 0
    const real = (await connection.run(SCRIPTS[step], keys, args)) as unknown[]
    const modelled = this.#model.step(step, keys, args, Number(real[0]))
    expect(modelled, what).toEqual(real)
    const pushes = this.#model.pushes.splice(0).map(({ inbox, message }) => `${inbox} ${message}`)
    // Published before the answer, on the same connection: whatever was sent has been heard.
    expect(this.heard.toSorted(), `${what}: pushes`).toEqual(pushes.toSorted())
    return real
  }

  forget(): Promise<unknown> {
    this.#model.forget()
    return connection.command(['FLUSHALL'])
  }
}

const seed = Number(process.env.HOLDFAST_SEED ?? randomBytes(4).readUInt32LE())

test(`3 000 random requests get the same answers (seed ${seed})`, { timeout: 120_000 }, async () => {
  const rng = new Rng(seed)
  const run = /run_id:(\w+)/.exec((await connection.command(['INFO', 'server'])) as string)?.[1] ?? ''
  const twin = new Twin(`m${seed}`, run)
  await twin.listen()
  const decision = `${twin.marker}:{servers}:c`
  const parts = ['', '.dep.1.one', '.dep.2.one']
  const change = (from: string, to: string, how: string): Promise<unknown[]> =>
    twin.step('adopt', [twin.marker, decision], [from, to, 50, how, `servers of ${to}`], `from ${from} to ${to}`)
  let part = parts[1] as string
  await change('', part, 'free')
  const ids = Array.from({ length: 6 }, () => rng.hex(32))
  let latest = 0
  let round = 0
  for (let n = 0; n < 3_000; n++) {
    const line = twin.line(rng.pick(['a', 'a', 'b']))
    const keys = [twin.marker, line]
    const id = rng.pick(ids)
    const seal = rng.chance(0.97) ? run + part : rng.pick(['', 'another', `${run}.dep.9.one`])
    const asPart = rng.chance(0.9) ? part : rng.pick(parts)
    const ttlMs = rng.pick([1, 3, 20, 60_000])
    const token = Math.max(0, latest + rng.pick([-1_000, 0, 1, 1_000, 90_000_000]))
    round += rng.whole(0, 1)
    const base = [seal, asPart, RETENTION_MS]
    const what = `seed ${seed}, request ${n}`
    const kind = rng.whole(0, 99)
    if (kind < 40) {
      const capacity = rng.chance(0.95) ? 1_000_000 : 1
      const weight = rng.pick([1, capacity])
      const place = [
        id,
        weight,
        capacity,
        ttlMs,
        token,
        token,
        rng.pick([0, 0, 1]),
        rng.pick([round, round, round - 1]),
        rng.pick([0, 1]),
      ]
      const answer = await twin.step('enter', keys, [...base, ...place, rng.pick(INBOXES), '{}'], what)
      latest = Number(answer[0])
    } else if (kind < 65) {
      const other = rng.pick(ids)
      const each = [id, token, rng.pick([0, 1, 2]), round, other, token + 1, 0, rng.pick([round, 0])]
      await twin.step('touch', [...keys, twin.line('c')], [...base, 2, ...each, 1, id, token, 0, round], what)
    } else if (kind < 70) {
      const given = [id, rng.pick([round, 1]), rng.pick(ids), round - 1]
      await twin.step('bury', keys, [...base, rng.pick(INBOXES), ttlMs, rng.pick([round, round - 2]), ...given], what)
    } else if (kind < 85) {
      const stays = rng.pick([0, 0, 0, 2])
      await twin.step('leave', keys, [...base, id, ttlMs, rng.pick([0, 1]), stays, rng.pick([round, 1])], what)
    } else if (kind < 93) {
      await twin.step('yield', keys, [...base, id, rng.pick([round, round, 1])], what)
    } else if (kind < 96) {
      await twin.step('break', keys, [...base, rng.pick([0, 1])], what)
    } else if (kind < 98) {
      await twin.step('hello', [twin.marker], [rng.pick(['look', 'join'])], what)
    } else if (rng.chance(0.3)) {
      await twin.step('quarantine', [twin.marker], [seal, asPart], what)
    } else if (rng.chance(0.5)) {
      const cell = [twin.marker, decision]
      const ballot = Math.floor(latest / 1_000) + rng.whole(-2, 2)
      await twin.step('prepare', cell, [seal, asPart, ballot, 60_000], what)
      await twin.step('accept', cell, [seal, asPart, ballot, 7, 0, 1, 'value', 'nonce', 60_000, 'history'], what)
    } else if (rng.chance(0.6)) {
      const to = rng.pick(parts.slice(1))
      const answer = await change(rng.pick([part, part, '']), to, rng.pick(['keep', 'quiet', 'free']))
      if (answer[1] === 1) part = to
    } else {
      await twin.forget()
    }
    // After it forgot.
    if (rng.chance(0.05) && (await change('', parts[1] as string, 'free'))[1] === 1) part = parts[1] as string
  }
})
