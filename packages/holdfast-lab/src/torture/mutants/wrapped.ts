/**
 * Mistakes of upgrades, breaks, crowds of readers and several locks: each wraps Holdfast itself.
 */
import type { Claim, LockClient, UpgradeClaim, Wish } from '../client/lock-client.ts'
import type { WrappedMutant } from './mutant.ts'

/** The same client, but for what is changed. */
function over(client: LockClient, changed: Partial<LockClient>): LockClient {
  const { fair, fenced, counting, ttlMs } = client
  return {
    fair,
    fenced,
    counting,
    ttlMs,
    acquire: (wish) => client.acquire(wish),
    lacks: async (line) => (await client.lacks?.(line)) ?? {},
    upgradeable: async (wish) => (await client.upgradeable?.(wish)) ?? null,
    several: async (lines, wish) => (await client.several?.(lines, wish)) ?? null,
    break: async (line, now) => (await client.break?.(line, now)) ?? 0,
    setup: () => client.setup(),
    crowd: (line) => client.crowd(line),
    close: () => client.close(),
    ...changed,
  }
}

/** The same claim, but for what is changed. */
function answering<T extends Claim>(claim: T, changed: Partial<Pick<Claim, 'isHeld' | 'release'>>): T {
  return Object.create(claim, Object.getOwnPropertyDescriptors(changed)) as T
}

/** The same claim with another release. */
function releasing<T extends Claim>(claim: T, release: () => Promise<boolean>): T {
  return answering(claim, { release })
}

/** The upgradeable lock of the client with another upgrade. */
function upgrading(
  client: LockClient,
  upgrade: (reader: Claim, wish: Wish) => Promise<Claim | null>,
): NonNullable<LockClient['upgradeable']> {
  return async (wish) => {
    const reader = (await client.upgradeable?.(wish)) ?? null
    if (reader === null) return null
    const { line } = wish
    const write: UpgradeClaim['upgrade'] = (how) =>
      upgrade(reader, { ...how, line, exclusive: true, weight: line.capacity })
    return Object.create(reader, { upgrade: { value: write } }) as UpgradeClaim
  }
}

const never = new AbortController().signal

/** Claims that readers of this process share, and how many do, by line. */
interface Shared {
  readonly claim: Claim
  count: number
}

export const wrapped: readonly WrappedMutant[] = [
  {
    name: 'upgrade-second-place',
    mistake: 'an upgrade takes a second place at the end of the line, behind those who wait for its first',
    seen: 'Holdfast before 1.0',
    nemeses: ['pause-client'],
    breaks: ['lost-lock', 'stands-still'],
    kinds: ['rw'],
    errands: ['visit', 'upgrade'],
    waitMs: 60_000,
    tasks: 2,
    wrap: (client) =>
      over(client, {
        // The rest of the capacity beside the reader: with both, a place has all.
        upgradeable: upgrading(client, (_, { line, ...wish }) =>
          client.acquire({
            ...wish,
            line: { ...line, kind: 'semaphore' },
            exclusive: false,
            weight: Math.ceil(line.capacity / 2) - 1,
          }),
        ),
      }),
  },
  {
    name: 'upgrade-lets-go',
    mistake: 'an upgrade lets the read lock go before it has the write lock: what was read is no longer true',
    seen: 'every read-write lock that can not upgrade',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    kinds: ['rw'],
    errands: ['visit', 'upgrade'],
    tasks: 2,
    wrap: (client) =>
      over(client, {
        upgradeable: upgrading(client, async (reader, wish) => {
          await reader.release()
          return client.acquire(wish)
        }),
      }),
  },
  {
    name: 'broken-leaves',
    mistake: 'a holder that is told that its lock was broken lets go at once, and the next is served beside its work',
    seen: 'Holdfast before 1.0',
    nemeses: ['break'],
    breaks: ['served-early'],
    ttlMs: 1_000,
    stayMs: 80,
    wrap: (client) =>
      over(client, {
        acquire: async (wish) => {
          const claim = await client.acquire(wish)
          if (claim === null) return null
          return releasing(claim, async () => {
            const isHeld = claim.isHeld()
            if (!isHeld) await client.break?.(wish.line.name, true)
            return claim.release()
          })
        },
      }),
  },
  {
    name: 'break-at-once',
    mistake: 'a break serves the next at once, whether that was asked for or not',
    seen: 'DEL of the key of a lock',
    nemeses: ['break'],
    breaks: ['served-early'],
    ttlMs: 1_000,
    stayMs: 80,
    wrap: (client) => over(client, { break: async (line) => (await client.break?.(line, true)) ?? 0 }),
  },
  {
    name: 'abort-unheard',
    mistake: 'several locks are given to a caller who has given up meanwhile',
    seen: 'Holdfast before 1.0',
    nemeses: ['pause-client'],
    breaks: ['given-up'],
    kinds: ['mutex', 'mutex'],
    errands: ['visit', 'several'],
    wrap: (client) =>
      over(client, {
        several: async (lines, { waitMs }) => (await client.several?.(lines, { waitMs, signal: never })) ?? null,
      }),
  },
  {
    name: 'abort-keeps-first',
    mistake: 'several locks are taken one by one; who gives up between two of them keeps the first, and nobody knows',
    seen: 'hand-made multi-locks',
    nemeses: ['pause-client'],
    breaks: ['lost-lock', 'left-behind'],
    kinds: ['mutex', 'mutex'],
    errands: ['visit', 'several'],
    wrap: (client) =>
      over(client, {
        several: async (lines, wish) => {
          const claims: Claim[] = []
          for (const line of lines.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
            const claim = await client.acquire({ ...wish, line, exclusive: true, weight: line.capacity })
            if (claim === null) return null
            claims[lines.indexOf(line)] = claim
          }
          return claims
        },
      }),
  },
  {
    name: 'readers-let-in',
    mistake:
      'a reader comes in beside another of its process without asking the store: a writer waits until none comes',
    seen: 'locks that count readers in the process',
    nemeses: ['pause-client'],
    breaks: ['overtaking'],
    kinds: ['rw'],
    errands: ['visit', 'readers'],
    fair: true,
    tasks: 2,
    wrap: (client) => {
      const shared = new Map<string, Shared>()
      return over(client, {
        acquire: async (wish) => {
          const { line, exclusive } = wish
          if (exclusive) return client.acquire(wish)
          const inside = shared.get(line.name)
          const claim = inside?.claim ?? (await client.acquire(wish))
          if (claim === null) return null
          const own = inside ?? { claim, count: 0 }
          if (inside === undefined) shared.set(line.name, own)
          own.count += 1
          return releasing(claim, async () => {
            own.count -= 1
            if (own.count > 0) return true
            if (shared.get(line.name) === own) shared.delete(line.name)
            return own.claim.release()
          })
        },
      })
    },
  },
  {
    name: 'loss-from-nowhere',
    mistake: 'a holder whose lease stands is told that it has lost the lock, and gives its work up',
    seen: 'clients that call every lost connection a lost lock',
    nemeses: ['pause-client'],
    breaks: ['model'],
    wrap: (client) => {
      let count = 0
      return over(client, {
        acquire: async (wish) => {
          const claim = await client.acquire(wish)
          count += 1
          return claim === null || count % 5 > 0 ? claim : answering(claim, { isHeld: () => false })
        },
      })
    },
  },
  {
    name: 'release-denied',
    mistake: 'a release in time is told as one that came too late, and its caller undoes good work',
    seen: 'DEL whose answer nobody reads',
    nemeses: ['pause-client'],
    breaks: ['model'],
    wrap: (client) => {
      let count = 0
      return over(client, {
        acquire: async (wish) => {
          const claim = await client.acquire(wish)
          count += 1
          if (claim === null || count % 5 > 0) return claim
          return releasing(claim, async () => (await claim.release()) && false)
        },
      })
    },
  },
]
