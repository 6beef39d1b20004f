/** Elections: one leader, seen by all, followed by the next. */
import assert from 'node:assert/strict'
import { AcquireTimeoutError, UsageError } from '../src/contract/errors.ts'
import type { Leader } from '../src/locks/election.ts'
import type { Draft } from './case.ts'
import { timesOut, until, within } from './rig.ts'

export const elections: Draft[] = [
  {
    law: 'election',
    name: 'one leads, others see who, and the next one follows when it resigns',
    async run(rig) {
      const name = rig.name('election')
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const [first, second] = [a.election(name, { value: 'a:1' }), b.election(name, { value: 'b:2' })]
      assert.equal(await first.leader(), null)
      const held = await first.campaign()
      assert.equal((await second.leader())?.value, 'a:1')
      assert.equal((await second.leader())?.token, held.token)
      const next = second.campaign()
      assert.equal(await first.resign(), true)
      assert.equal(held.state, 'released')
      const led = await within('the next candidate leads', next)
      assert.ok(led.token > held.token)
      await until('all see the new leader', async () => (await first.leader())?.value === 'b:2')
      assert.equal(await second.resign(), true)
      assert.equal(await second.resign(), false)
    },
  },
  {
    law: 'election',
    name: 'an observer is told of the leader and of every change',
    async run(rig) {
      const name = rig.name('election')
      const [a, b, watcher] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
      const ttlMs = Math.max(a.traits.ttlMsMin, 3_000)
      const seen: (Leader | null)[] = []
      const controller = new AbortController()
      const watching = (async () => {
        const changes = watcher.election(name, { ttlMs }).observe({ signal: controller.signal })
        for await (const leader of changes) seen.push(leader)
      })()
      await until('it is told that nobody leads', () => seen.length === 1)
      await a.election(name, { value: 'a', ttlMs }).campaign()
      await until('it is told of the first leader', () => seen.at(-1)?.value === 'a')
      const next = b.election(name, { value: 'b', ttlMs }).campaign()
      await a.close()
      await within('the second leads', next)
      await until('it is told of the second leader', () => seen.at(-1)?.value === 'b')
      controller.abort()
      await within('the observer ends', watching)
      assert.equal(seen[0], null)
    },
  },
  {
    law: 'election',
    name: 'run leads, goes on after a loss, and stops by its signal',
    async run(rig) {
      const name = rig.name('election')
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const controller = new AbortController()
      const tokens: bigint[] = []
      const ended = hf.election(name).run(
        async (held, signal) => {
          tokens.push(held.token)
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
          return 'done'
        },
        { signal: controller.signal },
      )
      await until('it leads', () => tokens.length === 1)
      await other.break(name, { now: true })
      await until('it leads again after the loss', () => tokens.length === 2)
      controller.abort()
      assert.equal(await within('it stops', ended), 'done')
      assert.ok((tokens[0] as bigint) < (tokens[1] as bigint))
      assert.equal(await hf.election(name).run(() => 7), 7)
      await assert.rejects(hf.election(name).run(undefined as never), UsageError)
      assert.throws(() => hf.election(name, { value: 'x'.repeat(600) }), UsageError)
    },
  },
  {
    law: 'election',
    name: 'resign stops the work of run, and the next leads only when that has ended',
    async run(rig) {
      const name = rig.name('election')
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const election = hf.election(name, { value: 'first' })
      const order: string[] = []
      let finish = (): void => {}
      const work = election.run(async (held, signal) => {
        order.push('leads')
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
        order.push('told')
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        held.assertHeld()
        order.push('ended')
        return 'result'
      })
      await until('it leads', () => order.length === 1)
      const next = other.election(name, { value: 'second' }).campaign()
      void next.then(() => order.push('next'))
      assert.equal(await election.resign(), true)
      await until('the work is told', () => order.length === 2)
      assert.equal((await other.election(name).leader())?.value, 'first')
      finish()
      assert.equal(await within('run ends', work), 'result')
      await within('the next leads', next)
      assert.deepEqual(order, ['leads', 'told', 'ended', 'next'])
      assert.equal(await election.resign(), false)
    },
  },
  {
    law: 'election',
    name: 'a candidate gives up after its time, or by its signal, and stands no more',
    async run(rig) {
      const name = rig.name('election')
      const [hf, other] = [await rig.holdfast(), await rig.holdfast()]
      const led = await hf.election(name, { value: 'leader' }).campaign()
      const election = other.election(name, { value: 'candidate' })
      await assert.rejects(election.campaign({ waitMs: 0 }), AcquireTimeoutError)
      await timesOut((waitMs) => election.campaign({ waitMs }))
      const reason = new Error('enough')
      const controller = new AbortController()
      const standing = election.campaign({ signal: controller.signal })
      const working = election.run(() => 'never', { signal: controller.signal })
      controller.abort(reason)
      await assert.rejects(standing, reason)
      await assert.rejects(working, reason)
      assert.equal(await election.resign(), false)
      await led.release()
      await until('nobody leads', async () => (await election.leader()) === null)
      assert.equal(await election.run((held) => held.state), 'held')
    },
  },
]
