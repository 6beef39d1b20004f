/** The small parts: chance, the deck of faults, the resource, the reading of histories. */
import { describe, expect, test } from 'vitest'
import { translated } from '../../src/torture/backend/gates.ts'
import { UsageError } from '../../../holdfast/src/contract/errors.ts'
import { makeLines, kindsFor, nextErrand } from '../../src/torture/generator/plan.ts'
import { parseHistory } from '../../src/torture/history/read.ts'
import { Deck } from '../../src/torture/nemesis/deck.ts'
import { NEEDS, NEMESES } from '../../src/torture/nemesis/names.ts'
import { Random } from '../../src/torture/random.ts'
import { FencedResource } from '../../src/torture/referee/resource.ts'
import { publicUrl } from 'holdfast/internal'

describe('chance', () => {
  test('is the same from the same seed, and another for another part', () => {
    const draw = (random: Random): number[] => Array.from({ length: 5 }, () => random.next())
    expect(draw(Random.of(7, 'a'))).toEqual(draw(Random.of(7, 'a')))
    expect(draw(Random.of(7, 'a'))).not.toEqual(draw(Random.of(7, 'b')))
    expect(draw(Random.of(7, 'a'))).not.toEqual(draw(Random.of(8, 'a')))
  })

  test('a shuffle loses nothing', () => {
    expect(new Random(1).shuffle(['a', 'b', 'c', 'd']).toSorted()).toEqual(['a', 'b', 'c', 'd'])
  })
})

describe('the deck', () => {
  test('every fault comes once before any comes twice', () => {
    const deck = new Deck(['pause-holder', 'kill-client', 'flush'], new Random(3))
    const drawn = Array.from({ length: 6 }, () => deck.next(() => true))
    expect(new Set(drawn.slice(0, 3)).size).toBe(3)
    expect(new Set(drawn.slice(3)).size).toBe(3)
  })

  test('what is not allowed yet comes later, and nothing comes where nothing is allowed', () => {
    const deck = new Deck(['pause-holder', 'flush'], new Random(3))
    expect(deck.next((name) => name !== 'flush')).toBe('pause-holder')
    expect(deck.next((name) => name === 'flush')).toBe('flush')
    expect(deck.next(() => false)).toBeNull()
  })

  test('every nemesis says what it needs', () => {
    for (const name of NEMESES) expect(NEEDS[name].length).toBeGreaterThan(5)
  })
})

describe('the generator', () => {
  test('gives kinds in turn, and no semaphore where weights can not be shared', () => {
    expect(kindsFor(5, true)).toEqual(['mutex', 'rw', 'mutex', 'semaphore', 'mutex'])
    expect(kindsFor(4, false)).not.toContain('semaphore')
  })

  test('asks for what the line carries', () => {
    const lines = makeLines(['mutex', 'rw', 'semaphore'], 'x:')
    const random = new Random(5)
    const pace = { stayMs: 10, restMs: 5, waitMs: 1_000, longEvery: 0, ttlMs: 300 }
    for (let n = 0; n < 200; n++) {
      const errand = nextErrand(lines, pace, random, ['visit'])
      if (errand.kind !== 'visit') throw new RangeError(`a ${errand.kind} was not asked for`)
      const { line, exclusive, weight, stayMs } = errand
      expect(weight).toBeGreaterThan(0)
      expect(weight).toBeLessThanOrEqual(line.capacity)
      expect(exclusive).toBe(weight === line.capacity)
      expect(stayMs).toBeLessThan(10)
    }
  })
})

describe('the resource', () => {
  const step = (hold: string, token: bigint, exclusive = true) => ({ hold, token: String(token), exclusive })

  test('refuses what is older, and lets a hold come again', () => {
    const resource = new FencedResource()
    expect(resource.accepts(step('a', 5n))).toBe(true)
    expect(resource.accepts(step('a', 5n))).toBe(true)
    expect(resource.accepts(step('b', 6n))).toBe(true)
    expect(resource.accepts(step('a', 5n))).toBe(false)
  })

  test('refuses an equal token of another hold', () => {
    const resource = new FencedResource()
    expect(resource.accepts(step('a', 5n))).toBe(true)
    expect(resource.accepts(step('b', 5n))).toBe(false)
  })

  test('readers come in any order, but not from before the last writer; nor a writer from before a reader', () => {
    const resource = new FencedResource()
    expect(resource.accepts(step('w', 5n))).toBe(true)
    expect(resource.accepts(step('r2', 8n, false))).toBe(true)
    expect(resource.accepts(step('r1', 7n, false))).toBe(true)
    expect(resource.accepts(step('r0', 4n, false))).toBe(false)
    expect(resource.accepts(step('w2', 6n))).toBe(false)
    expect(resource.accepts(step('w3', 9n))).toBe(true)
  })

  test('compares exactly above 2^53', () => {
    const resource = new FencedResource()
    expect(resource.accepts(step('a', 9_007_199_254_740_993n))).toBe(true)
    expect(resource.accepts(step('b', 9_007_199_254_740_992n))).toBe(false)
  })

  test('without tokens nothing can be refused', () => {
    expect(new FencedResource().accepts({ hold: 'a', exclusive: true })).toBe(true)
  })
})

describe('histories', () => {
  test('a last line that was cut off is left out, a wrong one in between is told', () => {
    const whole = '{"e":"phase","t":1,"name":"chaos"}\n'
    expect(parseHistory(Buffer.from(`${whole}{"e":"pha`))).toHaveLength(1)
    expect(() => parseHistory(Buffer.from(`{"e":"pha\n${whole}`), 'h.jsonl')).toThrow(UsageError)
    expect(() => parseHistory(Buffer.from('{"a":1}\n'), 'h.jsonl')).toThrow(/h\.jsonl, line 1/)
  })

  test('a password is not in them', () => {
    expect(publicUrl('redis://user:secret@h:1/0')).toBe('redis://user@h:1/0')
    expect(publicUrl('postgres://:secret@h/db')).toBe('postgres://h/db')
    expect(publicUrl('sqlite:/tmp/a@b.db')).toBe('sqlite:/tmp/a@b.db')
    expect(publicUrl('redis+sentinel://h/m?sentinelPassword=secret')).toBe('redis+sentinel://h/m')
  })
})

describe('the ways in', () => {
  test('where a server tells of another, the proxy is named, and nothing else changes', () => {
    const ports = new Map([['21001', '31001']])
    const said = (text: string): string => translated(Buffer.from(text, 'latin1'), ports).toString('latin1')
    expect(said('*2\r\n$9\r\n127.0.0.1\r\n$5\r\n21001\r\n')).toBe('*2\r\n$9\r\n127.0.0.1\r\n$5\r\n31001\r\n')
    expect(said('*3\r\n$9\r\n127.0.0.1\r\n:21001\r\n$3\r\nabc\r\n')).toContain(':31001\r\n')
    expect(said('-MOVED 866 127.0.0.1:21001\r\n')).toBe('-MOVED 866 127.0.0.1:31001\r\n')
    const data = '$30\r\n{"pid":21001,"label":"21001 \\u00e9"}\r\n:21002\r\n'
    expect(said(data)).toBe(data)
  })
})
