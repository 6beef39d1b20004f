/**
 * A nightly job bills every customer once, on whichever host gets the lock. Rehearse it:
 * `npx holdfast-lab rehearse examples/rehearse/cron-job.ts`
 * The broken form takes the lock once and trusts it for the whole run. The mended one asks before each charge whether
 * it still holds, and gives each charge an idempotency key: what comes late is then refused, not charged twice.
 */
import type { Holdfast } from 'holdfast'
import type { Rehearsable, Remote } from 'holdfast-lab/rehearse'

/** A payment service, as those of the large providers are: it knows the keys that it has seen. */
export class Payments {
  readonly charges: string[] = []
  readonly #keys = new Set<string>()

  /** Whether this key was charged already. */
  knows(key: string): boolean {
    return this.#keys.has(key)
  }

  charge(customer: string, key?: string): void {
    if (key !== undefined) {
      if (this.#keys.has(key)) throw new Error(`${key} was charged already`)
      this.#keys.add(key)
    }
    this.charges.push(customer)
  }
}

const CUSTOMERS = ['ada', 'ben']

async function billBroken(hf: Holdfast, payments: Remote<Payments>): Promise<void> {
  const held = await hf.mutex('billing', { ttlMs: 10_000 }).tryAcquire()
  if (held === null) return // another host does it
  for (const customer of CUSTOMERS) {
    await payments.charge(customer)
    await new Promise((resolve) => setTimeout(resolve, 100)) // as slow as the service wants us to be
  }
  await held.release()
}

async function bill(hf: Holdfast, payments: Remote<Payments>): Promise<void> {
  await hf.mutex('billing', { ttlMs: 10_000 }).using(async (held) => {
    for (const customer of CUSTOMERS) {
      const key = `2026-11-18/${customer}`
      if (await payments.knows(key)) continue
      held.assertHeld()
      await payments.charge(customer, key)
    }
  })
}

const night = {
  resource: () => new Payments(),
  reads: ['knows'],
  check({ charges }: Payments): void {
    if (new Set(charges).size < charges.length) throw new Error(`charged twice: ${charges.join(', ')}`)
  },
}

export const broken: Rehearsable<Payments> = { ...night, run: ({ hf, resource }) => billBroken(hf, resource) }
export const mended: Rehearsable<Payments> = { ...night, run: ({ hf, resource }) => bill(hf, resource) }
