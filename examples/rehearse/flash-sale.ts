/**
 * A shop sells what is left. Rehearse it: `npx holdfast-lab rehearse examples/rehearse/flash-sale.ts`
 * The broken form oversells when its process is paused between the look and the sale; the mended one gives the token of
 * its lock to the stock, which refuses an older one.
 */
import { type Holdfast, StaleTokenError } from 'holdfast'
import type { Rehearsable, Remote } from 'holdfast-lab/rehearse'

/** What the lock protects: here in memory, in production a table. */
export class Stock {
  left: number
  sold: number = 0
  #newest = 0n

  constructor(left: number) {
    this.left = left
  }

  count(token?: bigint): number {
    this.#check(token)
    return this.left
  }

  /** As most code does it: "set the count to what I have reckoned". */
  sell(items: number, left: number, token?: bigint): void {
    this.#check(token)
    this.sold += items
    this.left = left
  }

  #check(token: bigint | undefined): void {
    if (token === undefined) return
    const newest = this.#newest
    if (token < newest) throw new StaleTokenError(`${token} is older than ${newest}`, { given: token, newest })
    this.#newest = token
  }
}

async function sellBroken(hf: Holdfast, stock: Remote<Stock>, items: number): Promise<void> {
  await hf.mutex('stock:42').using(async () => {
    const left = await stock.count()
    if (left >= items) await stock.sell(items, left - items)
  })
}

async function sell(hf: Holdfast, stock: Remote<Stock>, items: number): Promise<void> {
  await hf.mutex('stock:42').using(async ({ token }) => {
    const left = await stock.count(token)
    if (left >= items) await stock.sell(items, left - items, token)
  })
}

const sale = {
  resource: () => new Stock(7),
  reads: ['count'],
  check({ sold, left }: Stock): void {
    if (sold + left !== 7) throw new Error(`sold ${sold} of 7, and ${left} are left`)
  },
}

export const broken: Rehearsable<Stock> = { ...sale, run: ({ hf, resource }) => sellBroken(hf, resource, 6) }
export const mended: Rehearsable<Stock> = { ...sale, run: ({ hf, resource }) => sell(hf, resource, 6) }
