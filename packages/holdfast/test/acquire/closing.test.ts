/** An instance that is closed while a store still thinks: what is granted then is given back. */
import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import type { Driver } from '../../src/contract/driver.ts'
import { ClosedError, holdfast } from '../../src/index.ts'

/** A driver one of whose answers comes only when it is let go; and stays open, so that what follows can be seen. */
function slow(driver: Driver, method: 'enterAll' | 'rename'): { readonly driver: Driver; readonly letGo: () => void } {
  let letGo = (): void => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const held = Object.create(driver, {
    [method]: {
      value: async (...args: unknown[]) => {
        const answer = await (driver[method] as (...args: unknown[]) => Promise<unknown>).apply(driver, args)
        await gate
        return answer
      },
    },
    enter: { value: driver.enter.bind(driver) },
    touch: { value: driver.touch.bind(driver) },
    leave: { value: driver.leave.bind(driver) },
    watch: { value: driver.watch.bind(driver) },
    close: { value: async () => {} },
  }) as Driver
  return { driver: held, letGo: () => letGo() }
}

test('several locks that are granted after the close are given back', async () => {
  const store = { name: 'closing-all' }
  const { driver, letGo } = slow(memory(store), 'enterAll')
  const [hf, other] = [await holdfast(driver), await holdfast(memory(store))]
  const asked = hf.all([hf.mutex('a'), hf.mutex('b')]).acquire()
  const refused = expect(asked).rejects.toBeInstanceOf(ClosedError)
  await new Promise((resolve) => setImmediate(resolve))
  await hf.close()
  letGo()
  await refused
  for (const name of ['a', 'b']) await (await other.mutex(name).acquire({ waitMs: 5_000 })).release()
  await other.close()
})

test('a hold that is adopted after the close is given back', async () => {
  const store = { name: 'closing-adopt' }
  const { driver, letGo } = slow(memory(store), 'rename')
  const [hf, other] = [await holdfast(driver), await holdfast(memory(store))]
  const text = await (await other.mutex('a').acquire()).export()
  const refused = expect(hf.adopt(text)).rejects.toBeInstanceOf(ClosedError)
  await new Promise((resolve) => setImmediate(resolve))
  await hf.close()
  letGo()
  await refused
  await (await other.mutex('a').acquire({ waitMs: 5_000 })).release()
  await other.close()
})
