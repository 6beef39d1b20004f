/**
 * A process that takes a lock, blocks its event loop, and tells what its handle says with the first step afterwards.
 */
import { holdfast } from '../../build/src/index.js'

const [url, line, ttlMs, blockMs, silenceMs, heartbeat] = process.argv.slice(2)
const hf = await holdfast(url, { heartbeat, silenceMs: Number(silenceMs), ttlMs: Number(ttlMs) })
const held = await hf.mutex(line).acquire()
process.send({ kind: 'held', token: String(held.token) })
// The message must be out before the loop stops.
await new Promise((resolve) => setTimeout(resolve, 50))
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs))
let code = 'held'
try {
  held.assertHeld()
} catch (error) {
  code = error.code
}
const { state } = held
process.send({ kind: 'after', code, state, message: code === 'held' ? '' : held.signal.reason?.message })
// Some more of its life: a hold that was kept must go on being kept, and end by its release.
await new Promise((resolve) => setTimeout(resolve, 500))
process.send({ kind: 'released', ours: await held.release() })
await hf.close()
process.disconnect()
