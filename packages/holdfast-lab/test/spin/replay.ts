/**
 * Runs a schedule of the model on real servers, through the real scripts: each answer, and each hold by the real tally,
 * must be what the model says. A tick of the model moves the clocks of the servers on.
 */
import { type Configuration } from '../../src/spin/configurations.ts'
import { ANSWER, COPY, readStep, type Step } from '../../src/spin/step.ts'
import type { Clock } from '../../src/torture/backend/clock.ts'
import type { Server } from '../../src/testbed/server.ts'
import { Connection } from '../../../holdfast/src/clients/redis/connection.ts'
import { SCRIPTS } from '../../../holdfast/src/stores/redlock/scripts.ts'
import type { Step as Script } from '../../../holdfast/src/stores/redlock/wire.ts'
import { ballotIn, Tally } from '../../../holdfast/src/stores/redlock/tally.ts'
import { majorityOf } from '../../../holdfast/src/stores/redlock/deployment.ts'

const HOUR_MS = 3_600_000
/** A little more than an hour: what lasts so many hours is over after as many ticks, and not before. */
const TICK_MS = HOUR_MS + 1_000
const RETENTION_MS = 1_000 * HOUR_MS
const INBOX = 'inboxinboxinbox0'
const FOR_EVER = 1_000_000

type Asked = Extract<Step, { readonly answer: number }>

/** One real server, and how its clock is moved. */
export interface Machine {
  readonly server: Server
  readonly clock: Clock
}

/** Where the servers, or the tally, said something else than the model. */
export interface Difference {
  readonly at: number
  readonly line: string
  readonly real: string
}

export class Replay {
  readonly #machines: readonly Machine[]
  readonly #defines: Configuration['defines']
  /** The simple scheme is used as it is; else the real one, where both differ. */
  readonly #isFlawed: boolean
  readonly #connections: Connection[] = []
  readonly #runs: string[] = []
  readonly #parts: string[] = []
  readonly #tallies = new Map<number, { readonly round: number; readonly tally: Tally; readonly written: number }>()
  #ticks = 0

  constructor(machines: readonly Machine[], { defines }: Configuration, isFlawed = false) {
    this.#machines = machines
    this.#defines = defines
    this.#isFlawed = isFlawed
  }

  /** The first difference; null: there is none. */
  async run(lines: readonly string[]): Promise<Difference | null> {
    try {
      await this.#begin()
      for (const [at, line] of lines.entries()) {
        const real = await this.#step(readStep(line))
        if (real !== null) return { at, line, real }
      }
      return null
    } finally {
      await Promise.all(this.#connections.map((connection) => connection.close()))
    }
  }

  get #ttlMs(): number {
    return Number(this.#defines['TTL'] ?? 2) * HOUR_MS
  }

  get #servers(): number {
    return Number(this.#defines['SERVERS'] ?? 3)
  }

  /** The servers are empty but for their markers; that is what a restart with an older copy finds. */
  async #begin(): Promise<void> {
    const first = Number(this.#defines['FIRST'] ?? this.#servers)
    const isUnmarked = this.#isFlawed && this.#defines['FLAW_NO_MARKER'] === true
    for (let at = 0; at < this.#servers; at++) {
      await this.#machines[at]?.clock.set(0)
      await this.#meet(at)
      await this.#connection(at).command(['FLUSHALL'])
      this.#parts[at] = ''
      if (at < first || isUnmarked) await this.#adopt(at, 1, 'free')
      await this.#connection(at).command(['SAVE'])
    }
  }

  #connection(at: number): Connection {
    return this.#connections[at] as Connection
  }

  async #meet(at: number): Promise<void> {
    await this.#connections[at]?.close()
    const connection = new Connection({ port: (this.#machines[at] as Machine).server.port })
    this.#connections[at] = connection
    this.#runs[at] = /run_id:(\w+)/.exec((await connection.command(['INFO', 'server'])) as string)?.[1] ?? ''
  }

  async #script(at: number, script: Script, keys: readonly string[], args: readonly (string | number)[]) {
    return (await this.#connection(at).run(SCRIPTS[script], ['spin:redlock', ...keys], args)) as unknown[]
  }

  async #adopt(at: number, epoch: number, how: 'free' | 'keep' | 'quiet'): Promise<boolean> {
    const to = `.spin.${epoch}.s${at}`
    const args = [this.#parts[at] ?? '', to, this.#ttlMs, how, 'servers']
    const [, isDone] = await this.#script(at, 'adopt', ['spin:redlock:{servers}'], args)
    this.#parts[at] = to
    return isDone === 1
  }

  /** What is really so, where the model says something else. */
  async #step(step: Step): Promise<string | null> {
    switch (step.kind) {
      case 'enter':
      case 'touch':
      case 'leave':
      case 'yield':
        return this.#ask(step)
      case 'holds':
        return this.#holds(step.client, step.token)
      case 'tick':
        this.#ticks++
        for (const { clock } of this.#machines) await clock.set(this.#ticks * TICK_MS)
        return null
      case 'restart':
        await this.#restart(step.server, step.copy)
        return null
      case 'adopt': {
        const how = step.isQuiet ? (this.#isLoud ? 'free' : 'quiet') : 'keep'
        return (await this.#adopt(step.server, step.epoch, how)) ? null : 'the server did not take it'
      }
      case 'settles':
      case 'renewed':
      case 'releases':
      case 'loses':
      case 'fails':
      case 'gives-up':
      case 'crashes':
      case 'delayed':
      case 'learn':
      case 'decided':
        return null
      default:
        return step satisfies never
    }
  }

  get #isLoud(): boolean {
    return this.#isFlawed && this.#defines['FLAW_LOUD'] === true
  }

  async #restart(at: number, copy: number): Promise<void> {
    const { server } = this.#machines[at] as Machine
    if (copy === COPY.kept) await this.#connection(at).command(['SAVE'])
    await server.kill()
    await server.restart({ keepData: copy !== COPY.empty })
    await this.#meet(at)
    if (copy === COPY.empty) this.#parts[at] = ''
    // As every client does on a new connection; the simple scheme writes the marker anew and votes at once.
    else if (this.#isFlawed && this.#defines['FLAW_NO_SILENCE'] === true) await this.#adopt(at, 1, 'free')
    else await this.#script(at, 'hello', [], ['join'])
  }

  async #ask(step: Asked): Promise<string | null> {
    const part = `.spin.${step.epoch}.s${step.server}`
    const base = [(this.#runs[step.server] ?? '') + part, part, RETENTION_MS]
    const key = ['spin:{line}']
    const id = idOf(step.client, step.attempt)
    const older = Array.from({ length: step.attempt - 1 }, (_, n) => idOf(step.client, n + 1))
    if (step.kind === 'enter') {
      // Told just before it, on the same connection: see tombstones.ts.
      const isHeard = step.answer !== ANSWER.quiet && step.answer !== ANSWER.strange
      if (older.length > 0 && isHeard) {
        const given = older.flatMap((one) => [one, FOR_EVER])
        await this.#script(step.server, 'bury', key, [...base, INBOX, RETENTION_MS, 0, ...given])
      }
      const args = [id, 1, 1, this.#ttlMs, step.priority, step.token, step.how, step.round, 1, INBOX, '{}']
      return this.#answered(step, await this.#script(step.server, 'enter', key, [...base, ...args]))
    }
    if (step.kind === 'touch') {
      const args = [1, id, step.token, step.how, step.round]
      return this.#answered(step, await this.#script(step.server, 'touch', key, [...base, ...args]))
    }
    if (step.kind === 'yield') {
      const [, silence, given] = await this.#script(step.server, 'yield', key, [...base, id, step.round])
      const real = Number(silence) === 0 ? (given === 1 ? ANSWER.vote : ANSWER.none) : silent(silence)
      return real === step.answer ? null : `answer ${real}`
    }
    for (const one of older) {
      await this.#script(step.server, 'leave', key, [...base, one, RETENTION_MS, 1, 0, FOR_EVER])
    }
    const reply = await this.#script(step.server, 'leave', key, [...base, id, RETENTION_MS, 1, 0, step.round])
    const real = Number(reply[1]) === 0 ? ANSWER.none : silent(reply[1])
    return real === step.answer ? null : `answer ${real}`
  }

  #answered(step: Asked, reply: readonly unknown[]): string | null {
    const isSilent = Number(reply[1]) !== 0
    const { code, token } = ballotIn(reply, 0)
    const real = isSilent ? silent(reply[1]) : code === 1 ? ANSWER.vote : code === 0 ? ANSWER.waits : ANSWER.gone
    const realToken = real === ANSWER.vote || real === ANSWER.waits ? token : 0
    if (real !== step.answer || realToken !== step.answerToken) return `answer ${real}, token ${realToken}`
    if (step.fate === 'heard' && !isSilent) this.#count(step, reply)
    return null
  }

  /** The real tally counts what the client heard in this round. */
  #count(step: Asked, reply: readonly unknown[]): void {
    const size = this.#sizeFor(step.client, step.epoch)
    const known = this.#tallies.get(step.client)
    const isNew = known?.round !== step.round
    const written = step.kind === 'touch' && step.how === 2 ? step.token : 0
    const counted = isNew ? { round: step.round, tally: new Tally(size, majorityOf(size), false), written } : known
    this.#tallies.set(step.client, counted)
    counted.tally.hear(step.server, ballotIn(reply, 0))
  }

  #sizeFor(client: number, epoch: number): number {
    const first = Number(this.#defines['FIRST'] ?? this.#servers)
    if (this.#defines['FLAW_NO_MARKER'] === true) return client === 0 ? first : this.#servers
    return first + Math.min(epoch - 1, Number(this.#defines['ADDS'] ?? 0))
  }

  #holds(client: number, token: number): string | null {
    if (this.#isFlawed) return null
    const { tally, written = 0 } = this.#tallies.get(client) ?? {}
    if (tally === undefined || tally.outcome !== 'granted') return `outcome ${tally?.outcome ?? 'none'}`
    const settled = written === 0 ? tally.agreed : written
    return settled === token ? null : `token ${settled}`
  }
}

/** Ids sort by their client, as places of equal priority do in the model. */
function idOf(client: number, attempt: number): string {
  return `${client}${attempt}`.padEnd(32, '0')
}

function silent(silence: unknown): number {
  return Number(silence) === -1 ? ANSWER.strange : ANSWER.quiet
}
