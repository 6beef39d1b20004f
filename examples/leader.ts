/** Two candidates, one leader. When the leader goes, the other takes over, with a higher token. */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:leader'
const [first, second] = [await holdfast(store), await holdfast(store)]

const led = await first.election('scheduler', { value: 'first' }).campaign()
console.log(`leader: ${(await second.election('scheduler').leader())?.value}`)

const next = second.election('scheduler', { value: 'second' }).campaign()
// The process of the leader ends.
await first.close()
const held = await next
console.log(`leader: ${(await second.election('scheduler').leader())?.value}`)
console.log(held.token > led.token ? 'the token has risen' : 'the token is wrong')
await second.close()
