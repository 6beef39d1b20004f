/** Who judges a run on servers that forget and jump. */
import { readDeployment } from '../../../holdfast/src/stores/redlock/deployment.ts'
import { Checker, type Record as Hold } from '../locks/checker.ts'
import type { Server } from '../locks/server.ts'
import type { World } from '../../src/simulated/world.ts'

/** Judges exclusion and tokens. Losses are told to holders, and with servers that forget they are not needless. */
export class Judge extends Checker {
  /** A clock has jumped: two may hold, as is stated; tokens must still rise. */
  hasJumped = false
  readonly #world: World
  /** The servers of each epoch of each deployment. */
  readonly #epochs = new Map<string, string>()

  constructor(world: World) {
    // Nobody breaks a lock here.
    const server = { failedOverAt: -1, brokenAt: new Map<string, number>(), brokenWeight: () => 0 }
    super(world, server as unknown as Server)
    this.#world = world
  }

  note(what: string): void {
    this.#world.note(what)
  }

  /** A server was told which servers there are: of one epoch there is one list. */
  adopted(text: string): void {
    const deployment = readDeployment(text)
    if (deployment === null) return
    const key = `${deployment.id}.${deployment.epoch}`
    const known = this.#epochs.get(key)
    if (known === undefined) this.#epochs.set(key, text)
    else if (known !== text) this.fail(`two lists of one epoch: ${known} and ${text}`)
  }

  override lost(record: Hold): void {
    if (record.endedAt === null) this.released(record)
  }

  override effect(record: Hold): void {
    if (!this.hasJumped) super.effect(record)
  }

  override fail(what: string): void {
    super.fail(what)
  }
}
