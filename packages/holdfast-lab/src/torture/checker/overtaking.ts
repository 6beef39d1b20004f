/**
 * Nobody overtakes a writer: once the store has said that its place has to wait, no reader that asks after that is
 * served before it. A crowd of readers that lets each newcomer in would keep a writer out for ever.
 */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import { concerns, type Hold, hitsClient, isStillborn, type LineTrial, type Trial } from './trial.ts'

export const overtaking: Checker = (trial) => {
  const found = none()
  if (!trial.run.fair) return found
  for (const line of trial.lines.values()) {
    if (line.spec.kind !== 'rw') continue
    for (const { writer, queuedAt, reader } of overtaken(trial, line)) {
      found.violations.push({
        rule: 'overtaking',
        line: line.spec.name,
        at: reader.granted,
        message:
          `${reader.p} asked to read ${ms(reader.invoked - queuedAt)} ms after ${writer.p} stood in the line to ` +
          `write, and was served ${ms(writer.granted - reader.granted)} ms before it`,
        processes: [writer.p, reader.p],
      })
    }
  }
  return found
}

interface Overtaken {
  readonly writer: Hold
  readonly queuedAt: number
  readonly reader: Hold
}

function overtaken(trial: Trial, { holds, queued }: LineTrial): Overtaken[] {
  const readers = holds
    .filter((hold) => !hold.exclusive && !isStillborn(hold))
    .toSorted((a, b) => a.invoked - b.invoked)
  const waitsOf = new Map<string, number[]>()
  for (const { p, exclusive, t } of queued) {
    if (!exclusive) continue
    const waits = waitsOf.get(p)
    if (waits === undefined) waitsOf.set(p, [t])
    else waits.push(t)
  }
  const result: Overtaken[] = []
  for (const writer of holds) {
    if (!writer.exclusive || writer.over !== null || isStillborn(writer)) continue
    // The last of its process's places that came to wait: whichever of them was its own, it stood there by then.
    const waits = waitsOf.get(writer.p) ?? []
    const queuedAt = waits[firstAfter(waits, writer.granted, identity) - 1]
    if (queuedAt === undefined || queuedAt <= writer.invoked || isDisturbed(trial, writer, queuedAt)) continue
    for (let at = firstAfter(readers, queuedAt, invokedAt); at < readers.length; at++) {
      const reader = readers[at] as Hold
      if (reader.invoked >= writer.granted) break
      if (reader.granted < writer.granted) result.push({ writer, queuedAt, reader })
    }
  }
  return result
}

/** A place may have lapsed by a fault, and another have been taken at the end of the line: that is no overtaking. */
function isDisturbed({ faults, run }: Trial, { p, line, granted }: Hold, from: number): boolean {
  const leaseUs = run.ttlMs * 1_000
  return faults.some(
    (fault) =>
      concerns(fault, line) &&
      (!hitsClient(fault.target) || fault.target === p) &&
      fault.t <= granted &&
      fault.over + leaseUs >= from,
  )
}

const identity = (t: number): number => t
const invokedAt = ({ invoked }: Hold): number => invoked

/** The place of the first that is later than `t`, in a list in the order of time. */
function firstAfter<T>(list: readonly T[], t: number, timeOf: (one: T) => number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (timeOf(list[middle] as T) <= t) low = middle + 1
    else high = middle
  }
  return low
}

function ms(us: number): string {
  return (us / 1_000).toFixed(1)
}
