/** Faults of client processes: stop, kill, block, cut off. */
import type { Faults } from '../../testbed/proxy.ts'
import { anHour } from '../hour.ts'
import type { Random } from '../random.ts'
import type { Blow } from './blow.ts'
import type { ClientTarget, Field } from './field.ts'
import type { NemesisName } from './names.ts'

/** null: there is nobody to hit now. */
type Aim = (field: Field, random: Random) => Promise<Blow | null>

/** Every other time any process: as a rule, that hits a waiter. */
const any = async (field: Field, random: Random): Promise<ClientTarget | null> =>
  (random.chance(0.5) ? await field.holder() : null) ?? random.pick(field.clients) ?? null
const holder = (field: Field): Promise<ClientTarget | null> => field.holder()

/** Longer than the lease, as a rule. Shorter stops are tried, too, and must do no harm at all. */
function pastLease(ttlMs: number, random: Random): number {
  return random.chance(0.2) ? ttlMs * 0.4 : ttlMs * (1.15 + random.next() * 0.8)
}

function stop(whom: typeof any): Aim {
  return async (field, random) => {
    const target = await whom(field, random)
    if (target === null) return null
    return {
      target: target.p,
      lastsMs: pastLease(field.ttlMs, random),
      strike: () => target.pause(),
      heal: () => target.resume(),
    }
  }
}

/** Like a container that is frozen, moved and thawed: the process goes on long after all leases have ended. */
async function suspend(field: Field): Promise<Blow | null> {
  const target = await field.holder()
  if (target === null) return null
  return {
    target: target.p,
    lastsMs: field.suspendMs,
    strike: () => target.pause(),
    heal: () => target.resume(),
  }
}

/** A client's wall clock judges no lease. A step of it may cause a question to the store, and nothing else. */
async function moveClock(field: Field, random: Random): Promise<Blow | null> {
  const target = await any(field, random)
  if (target === null) return null
  return {
    target: target.p,
    lastsMs: field.ttlMs * (0.5 + random.next()),
    strike: () => target.setClock(anHour(random)),
    heal: () => target.setClock(0),
  }
}

function kill(whom: typeof any): Aim {
  return async (field, random) => {
    const target = await whom(field, random)
    if (target === null) return null
    return {
      target: target.p,
      lastsMs: random.next() * field.ttlMs,
      strike: () => target.kill(),
      heal: () => target.revive(),
    }
  }
}

async function block(field: Field, random: Random): Promise<Blow | null> {
  const target = await field.holder()
  if (target === null) return null
  const lastsMs = pastLease(field.ttlMs, random)
  // The fault ends by itself. The process writes down from when to when it stood still.
  return { target: target.p, lastsMs, strike: () => target.block(lastsMs), heal: () => undefined }
}

function cut(faults: (random: Random) => Faults, alsoReset = false): Aim {
  return async (field, random) => {
    const target = await field.holder(({ gates }) => gates.length > 0)
    if (target === null) return null
    return {
      target: target.p,
      lastsMs: pastLease(field.ttlMs, random),
      strike: async () => {
        const given = faults(random)
        await Promise.all(target.gates.map((gate) => gate.set(given)))
        if (alsoReset) for (const gate of target.gates) gate.reset()
      },
      heal: async () => {
        await Promise.all(target.gates.map((gate) => gate.heal()))
      },
    }
  }
}

/** Nothing gets through, and nothing is acknowledged: both ends must notice by themselves. */
async function unplug(field: Field, random: Random): Promise<Blow | null> {
  const target = await field.holder(({ cable }) => cable !== null)
  const cable = target?.cable ?? null
  if (target === null || cable === null) return null
  return {
    target: target.p,
    lastsMs: pastLease(field.ttlMs, random),
    strike: () => cable.pull(),
    heal: () => cable.plug(),
  }
}

/** All connections are slow: answers come when leases have been running for a while. */
async function slow(field: Field, random: Random): Promise<Blow> {
  await field.holder()
  const { clients, ttlMs } = field
  const delayMs = Math.round(ttlMs * (0.1 + random.next() * 0.5))
  const gates = clients.flatMap((client) => client.gates)
  return {
    target: 'all ways',
    lastsMs: ttlMs * (1.2 + random.next() * 1.3),
    strike: async () => {
      await Promise.all(gates.map((gate) => gate.set({ delayMs })))
    },
    heal: async () => {
      await Promise.all(gates.map((gate) => gate.heal()))
    },
  }
}

export const CLIENT_AIMS: Readonly<Partial<Record<NemesisName, Aim>>> = {
  'pause-holder': stop(holder),
  'pause-client': stop(any),
  'kill-holder': kill(holder),
  'kill-client': kill(any),
  'suspend-holder': suspend,
  'block-loop': block,
  'client-clock': moveClock,
}

/** These need a gate in front of the client, or a cable behind it. */
export const NET_AIMS: Readonly<Partial<Record<NemesisName, Aim>>> = {
  partition: cut(() => ({ toServer: 'drop', toClient: 'drop' })),
  'partition-reset': cut(() => ({ accept: false }), true),
  'partition-one-way': cut((random) => (random.chance(0.5) ? { toClient: 'drop' } : { toClient: 'hold' })),
  latency: slow,
  unplug,
}
