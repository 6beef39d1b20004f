/** Any 1 to 512 bytes of UTF-8 are a name; two names are two lines; what is no name is refused before any I/O. */
import assert from 'node:assert/strict'
import { UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { crowd, lineOf } from './rig.ts'

/** Names that stores, shells, patterns and collations like to mix up. */
const HOSTILE = [
  ...['a', 'A', 'a ', ' a', 'a/', '/a', 'a//b', 'a/b', 'a\\b', '.', '..', '../a', './a'],
  ...['%', '_', '*', '?', '[a]', 'a%b', 'a_b', 'a*b', '{a}', '{', '}', '{}', '}{', ':', '::', 'a:b'],
  ...["'", '"', '`', "';--", '$1', '${a}', '%s', '\\', '\\0', '&', '|', ';', '<', '>', '#', '@', '='],
  ...['\u0000', 'a\u0000b', '\n', '\r\n', '\t', '\u007f', '\u200b', '\ufeff', '\u202e'],
  ...['é', 'e\u0301', 'ß', 'SS', 'ı', 'I', 'İ', 'ﬁ', 'fi', '锁', '🔒', '🔒🔒', '\u{10ffff}'],
  ...['0', '00', '-1', 'null', 'undefined', '__proto__', 'constructor', 'lock', 'true'],
]

export const names: Draft[] = [
  {
    law: 'names',
    name: 'hostile names are distinct lines, and come back exactly',
    timeoutMs: 120_000,
    async run(rig) {
      const hf = await rig.holdfast()
      const base = rig.name('names')
      const all = [
        ...HOSTILE.map((name) => `${base}|${name}`),
        longest(base, 'x'),
        longest(base, 'y'),
        longest(base, '锁'),
      ]
      const holds = []
      for (const name of all) {
        const held = await hf.mutex(name).tryAcquire()
        assert.ok(held, `${JSON.stringify(name)} is another line than all before`)
        holds.push(held)
      }
      const seen: string[] = []
      for await (const line of hf.list({ prefix: base })) {
        assert.equal(line.holders.length, 1)
        seen.push(line.name)
      }
      assert.deepEqual(seen.toSorted(), all.toSorted())
      await Promise.all(holds.map((held) => held.release()))
    },
  },
  {
    law: 'names',
    name: 'short hostile names work as they are',
    timeoutMs: 120_000,
    async run(rig) {
      const hf = await rig.holdfast()
      for (const name of HOSTILE) {
        const held = await hf.mutex(name).acquire()
        assert.equal((await lineOf({ list: (prefix) => hf.list({ prefix }) }, name)).name, name)
        await held.release()
        const cell = hf.cell<string>(name)
        const { version } = await cell.read()
        const written = await cell.write(name, version)
        assert.ok(written !== null)
        assert.equal((await cell.read()).value, name)
        await cell.remove(written)
      }
    },
  },
  {
    law: 'names',
    name: 'what is not a name is refused, by line and by cell',
    async run(rig) {
      const hf = await rig.holdfast()
      for (const name of ['', 'x'.repeat(513), '锁'.repeat(171), 'a\ud800', '\udc00', null, undefined, 7, {}, []]) {
        assert.throws(() => hf.mutex(name as string), UsageError)
        assert.throws(() => hf.rwLock(name as string), UsageError)
        assert.throws(() => hf.semaphore(name as string, 1), UsageError)
        assert.throws(() => hf.cell(name as string), UsageError)
        await assert.rejects(hf.break(name as string), UsageError)
      }
    },
  },
  {
    law: 'names',
    name: 'a prefix is taken literally',
    async run(rig) {
      const hf = await rig.holdfast()
      const base = rig.name('prefix')
      const lines = [`${base}%a`, `${base}_a`, `${base}*a`, `${base}xa`]
      const holds = await Promise.all(lines.map((name) => hf.mutex(name).acquire()))
      for (const name of lines) {
        const found: string[] = []
        for await (const line of hf.list({ prefix: name.slice(0, -1) })) found.push(line.name)
        assert.deepEqual(found, [name])
        assert.equal(await crowd({ list: (prefix) => hf.list({ prefix }) }, name), 1)
      }
      await Promise.all(holds.map((held) => held.release()))
    },
  },
]

/** A name of exactly 512 bytes. */
function longest(base: string, fill: string): string {
  let name = base + fill.repeat(Math.floor((512 - Buffer.byteLength(base)) / Buffer.byteLength(fill)))
  while (Buffer.byteLength(name) < 512) name += '.'
  return name
}
