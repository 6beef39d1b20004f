/** Started by the crash test: opens a testbed, starts servers, says what it has, and waits to be killed. */
import { testbed } from '../../src/testbed/testbed.ts'

const bed = await testbed()
const running = await bed.redis()
const paused = await bed.redis({ appendonly: 'everysec' })
paused.pause()
process.stdout.write(`${JSON.stringify({ dir: bed.dir, pids: [running.pid, paused.pid] })}\n`)
setInterval(() => undefined, 60_000)
