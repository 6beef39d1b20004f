/** A client in a process of its own: does what its parent orders, and reports what happened. */
import { appendFileSync, mkdirSync, rmdirSync } from 'node:fs'
import type { Held } from '../src/hold/held.ts'
import type { Driver } from '../src/contract/driver.ts'
import { type Holdfast, makeInstance } from '../src/holdfast.ts'
import type { Order, Report } from './errand.ts'

const [moduleUrl, config] = process.argv.slice(2) as [string, string]

function tell(report: Report): void {
  process.send?.(report)
}

async function open(): Promise<Holdfast> {
  const { default: make } = (await import(moduleUrl)) as { default: (config: unknown) => Driver | Promise<Driver> }
  const driver = await make(JSON.parse(config))
  await driver.setup?.()
  return makeInstance(driver, {})
}

/** Holds, and acts whenever its own handle says that it may. */
function actWhileHeld(held: Held): void {
  setInterval(() => {
    try {
      held.assertHeld()
    } catch (error) {
      tell({ kind: 'refused', code: (error as { code: string }).code })
      return
    }
    tell({ kind: 'effect', token: String(held.token) })
  }, 20)
}

/**
 * While somebody is inside there is a folder, which only one can create, and the diary has the visits in the order in
 * which they happened. No clock is read, because not every runtime has one that its processes share.
 */
async function visit(hf: Holdfast, { line, fairness, diary }: Extract<Order, { kind: 'visit' }>): Promise<void> {
  await hf.mutex(line, { fairness }).using(async ({ token }) => {
    mkdirSync(`${diary}.inside`)
    appendFileSync(diary, `${token}\n`)
    await new Promise((resolve) => setImmediate(resolve))
    rmdirSync(`${diary}.inside`)
  })
}

async function obey(hf: Holdfast, order: Order): Promise<void> {
  const { line } = order
  switch (order.kind) {
    case 'hold': {
      const { ttlMs, minHoldMs = 0 } = order
      const held = await hf.mutex(line, minHoldMs > 0 ? { ttlMs, minHoldMs } : { ttlMs }).acquire()
      tell({ kind: 'held', token: String(held.token) })
      if (order.acts) actWhileHeld(held)
      if (order.thenEnd === 'exit') process.exit(0)
      if (order.thenEnd === 'fall off') process.disconnect()
      return
    }
    case 'block': {
      const held = await hf.mutex(line, { ttlMs: order.ttlMs }).acquire()
      tell({ kind: 'held', token: String(held.token) })
      // The report must be out before the loop stops.
      await new Promise((resolve) => setTimeout(resolve, 50))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.blockMs)
      tell({ kind: 'unblocked', state: held.state })
      return
    }
    case 'visit':
      await Promise.all(Array.from({ length: order.times }, () => visit(hf, order)))
      tell({ kind: 'done' })
      return
    default:
      throw new Error(`unknown order ${JSON.stringify(order satisfies never)}`)
  }
}

async function main(): Promise<void> {
  const hf = await open()
  process.on('message', (order: Order) => {
    obey(hf, order).catch((error: unknown) => {
      tell({ kind: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    })
  })
  tell({ kind: 'ready' })
}

void main()
