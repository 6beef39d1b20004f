/** What only processes can show: killed, stopped and continued, crowded, and ended with their holds open. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Draft } from './case.ts'
import { Errand, type Report } from './errand.ts'
import { crowd, outlasting, type Rig, until, within } from './rig.ts'

/** Short enough to lapse in a test, long enough that only a stop makes it lapse. */
async function ttlFor(rig: Rig): Promise<number> {
  return Math.max((await rig.traits()).ttlMsMin, 1_500)
}

/** A store of one process has nothing to show here. */
function acrossProcesses(name: string, law: string, run: (rig: Rig) => Promise<void>): Draft {
  return {
    law,
    name,
    timeoutMs: 120_000,
    async run(rig) {
      if ((await rig.traits()).scope !== 'process') await run(rig)
    },
  }
}

export const processes: Draft[] = [
  acrossProcesses(
    'a holder whose event loop is blocked past its ttl knows what became of its hold',
    'life',
    async (rig) => {
      // With a heartbeat in a worker the hold is kept. Without, it is lost, and the first look says so.
      const driver = await rig.driver()
      const isVouched = 'latest' in driver
      await outlasting(driver.traits, 1_500, async (ttlMs) => {
        const line = rig.name()
        const child = await Errand.start(rig)
        child.order({ kind: 'block', line, ttlMs, blockMs: 3 * ttlMs })
        const { token } = await child.told('held')
        const hf = await rig.holdfast()
        const waiting = hf.mutex(line).acquire()
        const { state } = await child.told('unblocked')
        child.signal('SIGKILL')
        const held = await within('the next in line is served', waiting)
        assert.ok(held.token > BigInt(token))
        await held.release()
        assert.equal(state, isVouched ? 'held' : 'lost')
      })
    },
  ),
  acrossProcesses('a holder killed with -9 frees the line', 'life', async (rig) => {
    const line = rig.name()
    const child = await Errand.start(rig)
    child.order({ kind: 'hold', line, ttlMs: await ttlFor(rig) })
    const { token } = await child.told('held')
    const hf = await rig.holdfast()
    const waiting = hf.mutex(line).acquire()
    child.signal('SIGKILL')
    const held = await within('the next in line is served', waiting)
    assert.ok(held.token > BigInt(token))
    await held.release()
  }),
  acrossProcesses('a waiter killed with -9 does not block those behind it', 'life', async (rig) => {
    const line = rig.name()
    const hf = await rig.holdfast()
    const list = { list: (prefix: string) => hf.list({ prefix }) }
    const held = await hf.mutex(line).acquire()
    const child = await Errand.start(rig)
    child.order({ kind: 'hold', line, ttlMs: await ttlFor(rig) })
    if (hf.traits.fair) await until('the child stands in line', async () => (await crowd(list, line)) === 2)
    const other = await rig.holdfast()
    const waiting = other.mutex(line).acquire()
    if (hf.traits.fair) await until('another stands behind it', async () => (await crowd(list, line)) === 3)
    child.signal('SIGKILL')
    await held.release()
    await (await within('the one behind is served', waiting)).release()
  }),
  acrossProcesses(
    'a holder stopped past its ttl does not act when it goes on, and its token is old',
    'life',
    async (rig) => {
      const line = rig.name()
      const child = await Errand.start(rig)
      child.order({ kind: 'hold', line, ttlMs: await ttlFor(rig), acts: true })
      const { token } = await child.told('held')
      await child.told('effect')
      child.signal('SIGSTOP')
      const hf = await rig.holdfast()
      const held = await within('the next in line is served', hf.mutex(line).acquire())
      assert.ok(held.token > BigInt(token), 'a guard that has seen the new token refuses the old one')
      // What it said before it was stopped may still be on its way here; while stopped, it says nothing.
      const before = await settled(child.reports)
      child.signal('SIGCONT')
      const { code } = await child.told('refused', before)
      assert.equal(code, 'HF_LOST')
      const acted = child.reports.slice(before).filter((report) => report.kind === 'effect')
      assert.deepEqual(acted, [], 'the stopped holder must not act')
      await held.release()
    },
  ),
  ...(['strict', 'local'] as const).map((fairness) =>
    acrossProcesses(
      `4 processes x 50 contenders, ${fairness}: one at a time, all served, tokens rise`,
      'exclusion',
      async (rig) => {
        const line = rig.name()
        if (fairness === 'strict' && !(await rig.traits()).fair) return
        const folder = await mkdtemp(join(tmpdir(), 'holdfast-visits-'))
        rig.onClose(() => rm(folder, { recursive: true, force: true }))
        const diary = join(folder, 'diary')
        const children = await Promise.all(Array.from({ length: 4 }, () => Errand.start(rig)))
        for (const child of children) child.order({ kind: 'visit', line, times: 50, fairness, diary })
        // A process that finds another inside fails: only one can create the folder that stands for being inside.
        await within('all are served', Promise.all(children.map((child) => child.told('done'))), 100_000)
        const tokens = (await readFile(diary, 'utf8')).trimEnd().split('\n').map(BigInt)
        assert.equal(tokens.length, 200)
        for (const [i, token] of tokens.entries()) {
          const last = tokens[i - 1] ?? 0n
          assert.ok(last < token, `token ${token} after ${last}`)
        }
        const hf = await rig.holdfast()
        await until('nothing is left', async () => (await crowd({ list: (prefix) => hf.list({ prefix }) }, line)) === 0)
      },
    ),
  ),
  ...(['exit', 'fall off'] as const).map((thenEnd) =>
    acrossProcesses(`a process that ends (${thenEnd}) with a hold open frees the line`, 'life', async (rig) => {
      const line = rig.name()
      const child = await Errand.start(rig)
      child.order({ kind: 'hold', line, ttlMs: await ttlFor(rig), thenEnd })
      await within('a hold does not keep its process alive', child.exited)
      const hf = await rig.holdfast()
      await (await within('the line is free', hf.mutex(line).acquire())).release()
    }),
  ),
]

/** Waits until no more reports come in; returns how many there are. */
async function settled(reports: readonly Report[]): Promise<number> {
  let count = -1
  await until('no more reports come in', async () => {
    const isQuiet = count === reports.length
    count = reports.length
    await new Promise((resolve) => setTimeout(resolve, 100))
    return isQuiet
  })
  return count
}
