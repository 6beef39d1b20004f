import { describe, expect, test } from 'vitest'
import { UsageError } from '../../src/contract/errors.ts'
import { httpGuard, type Proof, sqlGuard } from '../../src/fence/index.ts'
import { Gate } from '../../src/fence/http/gate.ts'

type Leave = () => void

/** A gate that is waited at for ever, so that nobody is refused for being slow. */
function gateOf(
  resourcesMax: number,
  settings: { readonly waitMs?: number; readonly turnMsMax?: number } = {},
): {
  enter(resource: string, proof: Proof): Promise<Leave>
} {
  const forEver = Number.POSITIVE_INFINITY
  const gate = new Gate({ resourcesMax, waitMs: forEver, turnMsMax: forEver, ...settings })
  return { enter: (resource, proof) => gate.enter(resource, proof) as Promise<Leave> }
}

const proof = (token: bigint, place = '0123456789abcdef'): Proof => ({ line: 'l', token, place })

describe('the gate of an HTTP guard', () => {
  test('lets requests of one holder in together, and a newer holder behind all of them', async () => {
    const gate = gateOf(10)
    const [a, b] = [await gate.enter('r', proof(5n)), await gate.enter('r', proof(5n))]
    const order: string[] = []
    const newer = gate.enter('r', proof(6n)).then((leave) => {
      order.push('newer in')
      return leave
    })
    await expect(gate.enter('r', proof(5n))).rejects.toMatchObject({ given: 5n, newest: 6n })
    await expect(gate.enter('r', proof(6n, 'fedcba9876543210'))).rejects.toMatchObject({ newest: 6n })
    order.push('a out')
    a()
    // Twice is once: the other request of this holder is still at work.
    a()
    await Promise.resolve()
    order.push('b out')
    b()
    const leave = await newer
    expect(order).toEqual(['a out', 'b out', 'newer in'])
    leave()
  })

  test('refuses one that was overtaken while it waited', async () => {
    const gate = gateOf(10)
    const first = await gate.enter('r', proof(5n))
    const second = gate.enter('r', proof(6n))
    const third = gate.enter('r', proof(7n))
    first()
    await expect(second).rejects.toMatchObject({ given: 6n, newest: 7n })
    ;(await third)()
    ;(await gate.enter('r', proof(7n)))()
  })

  test('forgets what was used longest ago, but nobody who is at work', async () => {
    const gate = gateOf(2)
    const atWork = await gate.enter('a', proof(5n))
    ;(await gate.enter('b', proof(5n)))()
    ;(await gate.enter('c', proof(5n)))()
    await expect(gate.enter('a', proof(4n))).rejects.toMatchObject({ newest: 5n })
    await expect(gate.enter('c', proof(4n))).rejects.toMatchObject({ newest: 5n })
    ;(await gate.enter('b', proof(4n)))()
    atWork()
  })
})

test('a gate that is full of requests at work still lets another one in', async () => {
  const gate = gateOf(1)
  const first = await gate.enter('a', proof(5n))
  const second = await gate.enter('b', proof(5n))
  await expect(gate.enter('a', proof(4n))).rejects.toMatchObject({ newest: 5n })
  first()
  second()
})

describe('a handler that never answers', () => {
  test('keeps a newer holder waiting for waitMs, and those behind it no longer', async () => {
    const gate = gateOf(1, { waitMs: 20 })
    const stuck = await gate.enter('r', proof(5n))
    expect(await gate.enter('r', proof(6n))).toBeNull()
    // Nobody waits any more, but the first is still at work: neither a newer one nor a full memory lets anybody past
    // it.
    expect(await gate.enter('r', proof(7n))).toBeNull()
    ;(await gate.enter('other', proof(5n)))()
    expect(await gate.enter('r', proof(7n))).toBeNull()
    await expect(gate.enter('r', proof(6n))).rejects.toMatchObject({ newest: 7n })
    stuck()
    ;(await gate.enter('r', proof(7n)))()
  })

  test('keeps nobody waiting after turnMsMax', async () => {
    const gate = gateOf(10, { turnMsMax: 20 })
    await gate.enter('r', proof(5n))
    const newer = await gate.enter('r', proof(6n))
    expect(newer).toBeTypeOf('function')
    newer()
    newer()
  })
})

test('options that are wrong are refused at once', () => {
  const resource = (): string => 'r'
  for (const options of [
    undefined,
    {},
    { resource: 'r' },
    { resource, memory: {} },
    { resource, required: 1 },
    { resource, resourcesMax: 0 },
    { resource, resourcesMax: Number.NaN },
    { resource, colour: 1 },
    { resource, waitMs: -1 },
    { resource, turnMsMax: 0 },
  ]) {
    expect(() => httpGuard(options as never)).toThrow(UsageError)
  }
  for (const options of [{ table: '' }, { table: 'a..b' }, { table: 5 }, { tabel: 'x' }]) {
    expect(() => sqlGuard(options as never)).toThrow(UsageError)
  }
  expect(() => sqlGuard().migration('oracle' as never)).toThrow(UsageError)
})

test('the SQL for migrations names the table as it was given', () => {
  expect(sqlGuard({ table: 's.a"b`c' }).migration('postgres')).toContain('"s"."a""b`c"')
  expect(sqlGuard({ table: 's.a"b`c' }).migration('mysql')).toContain('`s`.`a"b``c`')
  expect(sqlGuard().migration('sqlite')).toMatch(/^CREATE TABLE IF NOT EXISTS "holdfast_fence" \(.*\).*;\n$/)
})
