/** Tokens rise, whatever happens between two holds, and pass through every hand unchanged. */
import assert from 'node:assert/strict'
import { StoreError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { answered, stand, standBriefly } from './laws.ts'
import { HighTokens } from './high-tokens.ts'
import { entry, lineOf, pause, until } from './rig.ts'

export const tokens: Draft[] = [
  {
    law: 'tokens',
    name: 'they rise across an empty line, a new client, and a lapse',
    async run(rig) {
      const line = rig.name()
      let last = 0n
      for (let round = 0; round < 4; round++) {
        const driver = await rig.driver()
        const { at, place } = await standBriefly(driver, line)
        const { token } = place
        assert.ok(token > last, `token ${token} after ${last}`)
        assert.ok(token < 2n ** 53n, 'a store token stays below 2^53')
        last = token
        if (round % 2 === 0) await answered(() => driver.leave(at))
        else await until('the line is empty again', async () => (await lineOf(driver, line)).holders.length === 0)
      }
    },
  },
  {
    law: 'tokens',
    name: 'every exclusive hold has a larger one than those before, handed on inside the process or not',
    async run(rig) {
      const line = rig.name()
      const [a, b] = [await rig.holdfast(), await rig.holdfast()]
      const seen: bigint[] = []
      const task = async (hf: typeof a): Promise<void> => {
        await hf.mutex(line).using(({ token }) => void seen.push(token))
      }
      await Promise.all(Array.from({ length: 60 }, (_, i) => task(i % 2 === 0 ? a : b)))
      for (const [i, token] of seen.entries()) {
        if (i > 0) assert.ok(token > (seen[i - 1] as bigint), `token ${token} after ${seen[i - 1]}`)
      }
      assert.equal(seen.length, 60)
    },
  },
  {
    law: 'tokens',
    name: 'a hold shows the same token that the line shows, to the last bit',
    async run(rig) {
      const hf = await rig.holdfast()
      const held = await hf.mutex(rig.name()).acquire()
      const line = await lineOf({ list: (prefix) => hf.list({ prefix }) }, held.name)
      assert.equal(line.holders[0]?.token, held.token)
      assert.equal(BigInt(held.token.toString()), held.token)
      assert.equal(BigInt.asIntN(64, held.token), held.token, 'it fits a signed 64-bit column')
      await held.release()
    },
  },
  {
    law: 'tokens',
    name: 'tokens above 2^53 that differ only in their last bits are told apart, and a store past 2^53 is refused',
    async run(rig) {
      const line = rig.name()
      const probe = await rig.driver()
      const { token } = await stand(probe, entry(rig.name('probe')))
      // So high that this store's own next tokens are the last below 2^53.
      const hf = await rig.holdfast({}, (driver) => new HighTokens(driver, 2n ** 53n - 2n ** 45n - token))
      const tokens: bigint[] = []
      const tasks = Array.from({ length: 8 }, () => hf.mutex(line).using((held) => void tokens.push(held.token)))
      await Promise.all(tasks)
      assert.ok(tokens.every((held) => held > 2n ** 62n && held < 2n ** 63n))
      assert.equal(new Set(tokens).size, 8)
      assert.deepEqual(
        tokens,
        tokens.toSorted((a, b) => (a < b ? -1 : 1)),
      )
      const past = await rig.holdfast({}, (driver) => new HighTokens(driver, 2n ** 53n))
      await assert.rejects(past.mutex(rig.name()).acquire(), StoreError)
    },
  },
  {
    law: 'tokens',
    name: 'a re-entered hold has the token of the hold it is in',
    async run(rig) {
      const mutex = (await rig.holdfast()).mutex(rig.name())
      await mutex.using(async (outer) => {
        await mutex.using(async (inner) => {
          assert.equal(inner.token, outer.token)
          await pause(1)
        })
      })
    },
  },
]
