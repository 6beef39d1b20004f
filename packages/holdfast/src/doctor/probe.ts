/**
 * The last check is a lock itself: the doctor takes it, lists it, writes a cell and gives the lock back, with the
 * rights that this user has.
 */
import { randomUUID } from 'node:crypto'
import { type HoldfastError, MissingClientError, StoreUnreachableError, UnsupportedError } from '../contract/errors.ts'
import type { Holdfast } from '../holdfast.ts'
import { holdfast } from '../open.ts'
import { type Chart, saidBy } from './finding.ts'

const PREFIX = 'holdfast/doctor/'

/** Rejects if the store can't be reached at all: then there is nothing to say about it. */
export async function checkLock(chart: Chart, url: string): Promise<void> {
  let hf: Holdfast | null = null
  try {
    hf = await holdfast(url)
    await useLock(hf, `${PREFIX}${randomUUID()}`, chart.ttlMs === null ? {} : { ttlMs: chart.ttlMs })
    chart.ok('lock', 'a lock was taken, listed and given back')
    await useCell(chart, hf)
    chart.ok('promise', hf.traits.safety)
  } catch (error) {
    // The server has answered an earlier check, so it can be reached: then what fails is the lock.
    const isReached = chart.findings.some(({ check }) => check.endsWith('.round-trip'))
    if (error instanceof MissingClientError || (error instanceof StoreUnreachableError && !isReached)) throw error
    chart.danger(
      'lock',
      `no lock can be taken: ${saidBy(error)}`,
      'Holdfast does not work here as it is',
      todoOf(error),
    )
  } finally {
    await hf?.close()
  }
}

async function useLock(hf: Holdfast, name: string, options: { readonly ttlMs?: number }): Promise<void> {
  const held = await hf.mutex(name, options).acquire({ waitMs: 5_000 })
  try {
    held.assertHeld()
    for await (const line of hf.list({ prefix: name })) if (line.name === name) return
    throw new Error('the lock that was taken is not in the list of locks')
  } finally {
    await held.release()
  }
}

/** Jobs, limiters, latches and reports need cells. */
async function useCell(chart: Chart, hf: Holdfast): Promise<void> {
  try {
    const cell = hf.cell<number>(`${PREFIX}cell`)
    const { version } = await cell.update(() => Date.now())
    await cell.remove(version)
    chart.ok('cell', 'a value was written and removed')
  } catch (error) {
    const why = `jobs, limiters, latches and reports do not work here: ${saidBy(error)}`
    if (error instanceof UnsupportedError) chart.note('cell', 'there are no cells', why, 'use another layout for these')
    else chart.warning('cell', 'a value could not be written', why, todoOf(error))
  }
}

function todoOf(error: unknown): string {
  const { code } = error as HoldfastError
  if (code === 'HF_STORE') return 'see the message; mostly rights are missing, or tables (holdfast migrate)'
  return 'see the message'
}
