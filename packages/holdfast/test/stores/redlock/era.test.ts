/** A machine that slept believes no answer of before: its own clock stood still, and the leases did not. */
import { expect, test } from 'vitest'
import { Model } from '../../../../holdfast-lab/simulation/redlock/model.ts'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { confirmed, founded, partOf, serverIdOf, writeDeployment } from '../../../src/stores/redlock/deployment.ts'
import { RedlockDriver } from '../../../src/stores/redlock/driver.ts'
import { resolveSettings } from '../../../src/stores/redlock/options.ts'
import type { Step, Wire, WireEvents } from '../../../src/stores/redlock/wire.ts'
import { ManualRuntime } from '../../manual-runtime.ts'
import { entry } from './rig.ts'

const LONGEST_MS = 10_000

/** A server whose clock is the true one, and whose answers come when they are let through. */
class Server implements Wire {
  readonly where: string
  readonly keyPrefix = ''
  readonly tells = true
  readonly model: Model
  holds = false
  readonly #runtime: ManualRuntime
  readonly #held: (() => void)[] = []

  constructor(name: string, runtime: ManualRuntime) {
    this.where = name
    this.#runtime = runtime
    this.model = new Model(name.padEnd(40, '0'))
  }

  get micros(): number {
    return this.#runtime.wallMs * 1_000
  }

  open(events: WireEvents): void {
    events.onUp()
  }

  run(step: Step, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const answer = this.model.step(step, keys, args, this.micros)
    if (!this.holds) return Promise.resolve(answer)
    return new Promise((resolve) => void this.#held.push(() => resolve(answer)))
  }

  letThrough(): void {
    for (const answer of this.#held.splice(0)) answer()
  }

  async *scan(): AsyncGenerator<readonly string[]> {}

  subscribe(): Promise<void> {
    return Promise.resolve()
  }

  unsubscribe(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

test('a vote that was given before the machine slept, and is read after it, makes no holder', async () => {
  const runtime = new ManualRuntime()
  const servers = ['a', 'b', 'c'].map((name) => new Server(name, runtime))
  const named = servers.map(({ model, where }) => ({ id: serverIdOf(model.run), where }))
  const deployment = confirmed(founded('one', LONGEST_MS, named))
  for (const { model, micros } of servers) {
    const args = ['', partOf(deployment, serverIdOf(model.run)), LONGEST_MS, 'free', writeDeployment(deployment)]
    model.step('adopt', ['holdfast:redlock', ''], args, micros)
  }
  const driver = new RedlockDriver(servers, resolveSettings({}, 3), runtime)
  await driver.open()
  const [, b, c] = servers as [Server, Server, Server]

  // A votes and is heard; B votes, too, and its answer is on its way when the machine falls asleep.
  b.holds = true
  c.holds = true
  const late = driver.enter(entry('stock', { ttlMs: LONGEST_MS }), true)
  const ended = expect(late).rejects.toThrow(StoreUnreachableError)
  await runtime.settle()
  runtime.wallMs += 6 * LONGEST_MS
  b.holds = false
  c.holds = false

  // Another round shows that all clocks have jumped alike: it was ours that stood still. Nothing is known of them now.
  await driver.enter(entry('other', { ttlMs: LONGEST_MS }), true).catch(() => undefined)
  // Both votes have lapsed long ago, and somebody else may hold.
  b.letThrough()
  await ended
  await driver.close()
})
