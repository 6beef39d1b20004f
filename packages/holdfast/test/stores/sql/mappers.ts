/** What is tried inside the transaction of each object mapper and query builder, whichever the database. */
import { expect } from 'vitest'
import { type Proof, type SqlGuard, type SqlTransaction } from '../../../src/fence/index.ts'
import { StaleTokenError, UsageError } from '../../../src/index.ts'

/** One mapper: does work in a transaction, with what its users would give to us, and a way to write. */
export interface Mapper {
  begin<T>(work: (tx: SqlTransaction, write: (text: string) => Promise<unknown>) => Promise<T>): Promise<T>
  /** What is no transaction, and must be refused. */
  readonly outside: unknown
  close(): Promise<unknown>
}

/** The database, as somebody sees it who looks on. */
export interface Observer {
  readonly guard: SqlGuard
  lock(tx: unknown, name: string): Promise<void>
  addSeat(mapper: string): Promise<unknown>
  seats(mapper: string): Promise<number>
  someoneWaits(): Promise<void>
}

const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })

/** Lock and data commit together; a late token is refused, its write with it; what is no transaction is, too. */
export async function tryMapper(name: string, mapper: Mapper, observer: Observer): Promise<void> {
  const { guard, lock } = observer
  await observer.addSeat(name)
  const order: string[] = []
  let letGo = (): void => undefined
  const mayGo = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const sell = (who: string, until?: Promise<void>): Promise<unknown> =>
    mapper.begin(async (tx, write) => {
      await lock(tx, `seats ${name}`)
      order.push(`${who} has it`)
      await write(`UPDATE seats SET n = n - 1 WHERE mapper = '${name}'`)
      await until
      order.push(`${who} commits`)
    })
  const first = sell('a', mayGo)
  await expect.poll(() => order.length).toBe(1)
  const second = sell('b')
  await observer.someoneWaits()
  letGo()
  await Promise.all([first, second])
  expect(order).toEqual(['a has it', 'a commits', 'b has it', 'b commits'])

  // Two that differ above 2^53: no mapper may have made a double of them.
  const newest = 2n ** 53n + 2n
  await mapper.begin((tx) => guard.check(tx, name, proof(newest)))
  await mapper.begin((tx) => guard.check(tx, name, proof(newest)))
  const late = mapper.begin(async (tx, write) => {
    await write(`UPDATE seats SET n = 100 WHERE mapper = '${name}'`)
    await guard.check(tx, name, proof(newest - 1n))
  })
  await expect(late).rejects.toBeInstanceOf(StaleTokenError)
  await expect(late).rejects.toMatchObject({ newest })
  await expect(lock(mapper.outside, 'seats')).rejects.toBeInstanceOf(UsageError)
  await expect(guard.check(mapper.outside as never, name, proof(newest + 1n))).rejects.toBeInstanceOf(UsageError)
  await mapper.begin((tx) => guard.forget(tx, name))
  await mapper.begin((tx) => guard.check(tx, name, proof(1n)))
  expect(await observer.seats(name)).toBe(-1)
}
