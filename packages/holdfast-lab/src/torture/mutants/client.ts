/** A planted fault as the client under test. The conductor says which one. */
import type { Claim, Crowd, LockClient, LockClientOptions, Wish } from '../client/lock-client.ts'
import type { LineSpec } from '../history/event.ts'
import openHoldfast from '../client/holdfast-client.ts'
import { Bench } from './bench.ts'
import { mutantNamed } from './catalogue.ts'
import type { MadeMutant, Try } from './mutant.ts'

const POLL_MS = 8

class MutantClient implements LockClient {
  readonly fair: boolean
  readonly fenced: boolean
  readonly counting = true
  readonly ttlMs: number
  readonly #bench: Bench
  readonly #try: Try

  constructor(mutant: MadeMutant, o: LockClientOptions) {
    this.#bench = new Bench(o)
    this.fair = mutant.fair ?? false
    this.fenced = mutant.fenced ?? false
    this.ttlMs = o.ttlMs
    this.#try = mutant.make(this.#bench)
  }

  async acquire(wish: Wish): Promise<Claim | null> {
    const end = performance.now() + wish.waitMs
    for (;;) {
      const claim = await this.#try(wish)
      if (claim !== null) return claim
      if (performance.now() >= end || wish.signal.aborted) return null
      await this.#bench.sleep(POLL_MS * (0.5 + Math.random()))
    }
  }

  setup(): Promise<void> {
    return Promise.resolve()
  }

  async crowd(line: LineSpec): Promise<Crowd> {
    const holders = Number(await this.#bench.ask('EXISTS', this.#bench.key(line)))
    const waiters = Number(await this.#bench.ask('LLEN', this.#bench.key(line, ':queue')))
    return { holders, waiters }
  }

  close(): Promise<void> {
    return this.#bench.close()
  }
}

export default async function openMutant(o: LockClientOptions): Promise<LockClient> {
  const mutant = mutantNamed(o.config)
  return 'wrap' in mutant ? mutant.wrap(await openHoldfast(o)) : new MutantClient(mutant, o)
}
