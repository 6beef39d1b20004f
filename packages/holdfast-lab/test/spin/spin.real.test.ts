/**
 * Spin finds no broken law in the small worlds of Redlock's model, refutes every simpler scheme, and the real scripts
 * on real servers say at every step what the model says.
 */
import { readFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { type Configuration, FLAWS, SMALL } from '../../src/spin/configurations.ts'
import { counterExampleFile, LAWS } from '../../src/spin/laws.ts'
import { type Searched, search, simulate } from '../../src/spin/spin.ts'
import { timelineOf } from '../../src/spin/timeline.ts'
import { requireServers, requireTools } from '../../src/testbed/require.ts'
import { testbed } from '../../src/testbed/testbed.ts'
import { Clocks } from '../../src/torture/backend/clock.ts'
import { type Machine, Replay } from './replay.ts'

await requireServers(['redis'])
await requireTools(['spin', 'compiler'])
const bed = await testbed()
const clocks = new Clocks()
const machines: Machine[] = []
for (let at = 0; at < 5; at++) {
  const clock = await clocks.make(`spin-${at}`)
  machines.push({ clock, server: await bed.redis({ env: clock.env ?? {} }) })
}
afterAll(async () => {
  await bed.close()
  await clocks.close()
})

const found = new Map<string, Promise<Searched>>()
function searched(of: Configuration): Promise<Searched> {
  const known = found.get(of.name) ?? search(of)
  found.set(of.name, known)
  return known
}

describe('Spin', () => {
  test.for(SMALL)('finds no broken law: $name', { timeout: 600_000 }, async (of) => {
    const { found: law, states } = await searched(of)
    expect(law).toBe('none')
    expect(states).toBeGreaterThan(1_000)
  })

  test.for(FLAWS)('refutes: $name', { timeout: 600_000 }, async (of) => {
    const { found: law, trail } = await searched(of)
    expect(law).toBe(of.expected)
    // After a change of the model: npm run spin -- --write
    const kept = await readFile(counterExampleFile(of.name), 'utf8')
    expect(timelineOf(of.about, trail, LAWS[law as keyof typeof LAWS])).toBe(kept)
  })
})

/** Where the real scheme first does something else than the simpler one. */
const REFUSALS: Readonly<Record<string, RegExp>> = {
  largest: /^holds .* is really token null$/,
  'write-anywhere': /^holds .* is really outcome none$/,
  'no-silence': /^enter .* is really answer 4, token 0$/,
  loud: /^enter .* is really answer 4, token 0$/,
  'no-marker': /^enter .* is really answer 5, token 0$/,
}

describe('the schedules of the counter-examples on real servers', () => {
  test.for(FLAWS)('break the simpler scheme there, too: $name', { timeout: 600_000 }, async (of) => {
    const { trail } = await searched(of)
    expect(await new Replay(machines, of, true).run(trail)).toBe(null)
  })

  test.for(FLAWS)('are stopped by the real one: $name', { timeout: 600_000 }, async (of) => {
    const { trail } = await searched(of)
    const difference = await new Replay(machines, of).run(trail)
    expect(`${difference?.line} is really ${difference?.real}`).toMatch(REFUSALS[of.name] as RegExp)
  })
})

const tokens = { ATTEMPTS: 2, ROUNDS: 3, MISSES: 4, LOSSES: 4, LATE: 3, RENEWALS: 1 }
const timed = { ...tokens, TICKS: 6, CRASHES: 1 }
/** Worlds too large to search: random walks through them. */
const WALKS: readonly Configuration[] = [
  { name: 'tokens', about: 'no time passes', defines: tokens, expected: 'none' },
  { name: 'leases', about: 'leases end', defines: { ...timed, CLIENTS: 3 }, expected: 'none' },
  { name: 'stale', about: 'older copies', defines: { ...timed, RESTARTS: 2, COPY: 'STALE' }, expected: 'none' },
  { name: 'kept', about: 'restarts', defines: { ...timed, RESTARTS: 2, COPY: 'KEPT' }, expected: 'none' },
  {
    name: 'replaced',
    about: 'a server is replaced',
    defines: { ...timed, RESTARTS: 1, COPY: 'EMPTY', REPLACES: 1, ONLY_EXCLUSION: true },
    expected: 'none',
  },
  {
    name: 'grown',
    about: 'three servers become five',
    defines: { ...timed, SERVERS: 5, FIRST: 3, ADDS: 2, ONLY_EXCLUSION: true },
    expected: 'none',
  },
]
const given = Number(process.env['HOLDFAST_SEED'] ?? randomBytes(2).readUInt16LE())
/** A walk that once began with the operator, before the servers of the first epoch were set up. */
const EARLY_OPERATOR = 34_357

test.for([EARLY_OPERATOR, given])(
  '50 random schedules get the same answers on real servers (HOLDFAST_SEED=%d)',
  {
    timeout: 600_000,
  },
  async (seed) => {
    let answers = 0
    for (let n = 0; n < 50; n++) {
      const of = WALKS[n % WALKS.length] as Configuration
      const lines = await simulate(of, seed + n)
      const difference = await new Replay(machines, of).run(lines)
      expect(difference, `HOLDFAST_SEED=${seed}, schedule ${n} of ${of.name}:\n${lines.join('\n')}`).toBe(null)
      answers += lines.filter((line) => line.includes(' -> ')).length
    }
    expect(answers).toBeGreaterThan(500)
  },
)
