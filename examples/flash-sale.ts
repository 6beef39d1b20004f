/**
 * A flash sale: three shops, thirty buyers, ten items. Run it on any store: `tsx examples/flash-sale.ts
 * redis://localhost`
 */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:flash-sale'
const shops = await Promise.all([1, 2, 3].map(() => holdfast(store)))
await shops[0]?.setup()

// What the lock protects: reads and writes with a pause between them, as any database has it.
let stock = 10
const sold: string[] = []

async function buy(buyer: string, shop: (typeof shops)[number]): Promise<void> {
  await shop.mutex('flash-sale:item-42').using(async () => {
    const seen = stock
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (seen === 0) return
    stock = seen - 1
    sold.push(buyer)
  })
}

await Promise.all(shops.flatMap((shop, s) => Array.from({ length: 10 }, (_, i) => buy(`buyer ${s}-${i}`, shop))))
console.log(`sold ${sold.length}, left ${stock}`)
for (const shop of shops) await shop.close()
