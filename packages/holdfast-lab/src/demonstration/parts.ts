/** The four parts of the flash sale. Each forces its schedule by holding answers back: nothing is left to luck. */
import { holdfast } from 'holdfast'
import type { Way } from './messages.ts'
import { Buyer, type Tell } from './shop.ts'
import { Stock } from './stock.ts'

/** The seeds' own case. */
export const CASE = { stock: 10, a: 6, b: 5 } as const

export interface Outcome {
  readonly sold: number
  /** What the stock says is left. */
  readonly left: number
}

export interface Part {
  readonly title: string
  /** Whether more is sold than there is: without that, the part has failed. */
  readonly oversells: boolean
  run(scene: Scene): Promise<Outcome>
}

/** What a part works with. */
export interface Scene {
  readonly store: string
  readonly tell: Tell
  /** Started buyers, so that none outlives the demo. */
  readonly buyers: Buyer[]
}

export const PARTS: readonly Part[] = [
  { title: 'no lock', oversells: true, run: noLock },
  { title: 'a lock, and a holder that is paused', oversells: true, run: (scene) => pausedHolder(scene, 'locked') },
  {
    title: 'the same, and the stock checks the token',
    oversells: false,
    run: (scene) => pausedHolder(scene, 'fenced'),
  },
  { title: 'no lock, one conditional decrement', oversells: false, run: conditional },
]

/** Both have read before either writes. */
async function noLock(scene: Scene): Promise<Outcome> {
  const { stock, a, b } = open(scene, 'bare')
  const [buyerA, buyerB] = [a(), b()]
  await Promise.all([buyerA.next(), buyerB.next()])
  await buyerA.answer()
  await buyerB.answer()
  await Promise.all([buyerA.next(), buyerB.next()])
  await buyerA.finish()
  await buyerB.finish()
  return outcome(stock, buyerA, buyerB)
}

/** A holds the lock, has checked everything, and is stopped until the line shows B as its holder. */
async function pausedHolder(scene: Scene, way: Way): Promise<Outcome> {
  const { stock, a, b } = open(scene, way)
  const buyerA = a()
  await answerUntil(buyerA, 'decided')
  const buyerB = b()
  buyerA.pause()
  // Lies in A's pipe until A continues.
  await buyerA.answer()
  await holderIs(scene, buyerB)
  scene.tell(`the lease of A has run out, and B holds the lock`)
  await answerUntil(buyerB, 'decided')
  buyerA.resume()
  await buyerA.next()
  await buyerA.answer()
  await buyerB.finish()
  await buyerA.finish()
  return outcome(stock, buyerA, buyerB)
}

/** The stock decides, in one step: nobody can come in between. */
async function conditional(scene: Scene): Promise<Outcome> {
  const { stock, a, b } = open(scene, 'conditional')
  const [buyerA, buyerB] = [a(), b()]
  await Promise.all([buyerA.next(), buyerB.next()])
  await buyerA.finish()
  await buyerB.finish()
  return outcome(stock, buyerA, buyerB)
}

function open(scene: Scene, way: Way): { stock: Stock; a: () => Buyer; b: () => Buyer } {
  const stock = new Stock(CASE.stock)
  const start = (name: string, wants: number) => (): Buyer => {
    const buyer = new Buyer({ name, wants, way, store: scene.store }, stock, scene.tell)
    scene.buyers.push(buyer)
    return buyer
  }
  return { stock, a: start('A', CASE.a), b: start('B', CASE.b) }
}

/** Answers the buyer's requests up to the first of this kind, which stays unanswered. */
async function answerUntil(buyer: Buyer, kind: 'decided'): Promise<void> {
  while ((await buyer.next()).kind !== kind) await buyer.answer()
}

const LOOK_MS = 20

async function holderIs(scene: Scene, buyer: Buyer): Promise<void> {
  const hf = await holdfast(scene.store)
  try {
    for (;;) {
      for await (const line of hf.list({ prefix: 'stock' })) {
        if (line.holders.some((place) => place.pid === buyer.pid)) return
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    await hf.close()
  }
}

function outcome(stock: Stock, a: Buyer, b: Buyer): Outcome {
  return { sold: a.bought + b.bought, left: stock.left }
}
