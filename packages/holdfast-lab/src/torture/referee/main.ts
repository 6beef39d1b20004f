/**
 * The referee: a process of its own that hosts the protected resource. Single-threaded, so that the order in which it
 * does things is a total order, whatever the clocks say.
 */
import { createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { micros } from '../history/clock.ts'
import { Recorder } from '../history/recorder.ts'
import type { Answer, Notice, Say } from './messages.ts'
import { ListResource } from './resource.ts'

const recorder = new Recorder(process.argv[2] ?? '')
const resources = new Map<string, ListResource>()
/** How many steps each line has seen. */
const steps = new Map<string, number>()

function tell(notice: Notice): void {
  process.send?.(notice, undefined, undefined, (error) => {
    // The conductor has ended, so the referee ends.
    if (error) process.exit(1)
  })
}

function serve(socket: Socket): void {
  let p = ''
  const inside = new Map<number, string>()
  /** Which step of the line the read was, of those who hold it alone. */
  const reads = new Map<number, number>()
  const leave = (i: number, line: string): void => {
    reads.delete(i)
    if (inside.delete(i)) tell({ tell: 'left', line, p })
  }
  // A client that was killed; 'close' follows.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    for (const [i, line] of inside) leave(i, line)
  })
  const lines = createInterface({ input: socket })
  // It tells of the socket's errors again.
  lines.on('error', () => undefined)
  lines.on('line', (text) => {
    const said = JSON.parse(text) as Say
    if (said.say === 'hello') p = said.p
    else if (said.say === 'leave') leave(said.i, said.line)
    else {
      const { say: _, exclusive, upgraded = false, ...step } = said
      const resource = resources.get(said.line) ?? new ListResource()
      resources.set(said.line, resource)
      const asked = { hold: `${p} ${said.i}`, token: said.token, exclusive, upgraded }
      const { accepted, saw } = resource.step(asked, exclusive && said.what === 'write')
      const count = (steps.get(said.line) ?? 0) + 1
      steps.set(said.line, count)
      if (exclusive && said.what === 'read') reads.set(said.i, count)
      if (said.what === 'write' && count - (reads.get(said.i) ?? count) > 1) tell({ tell: 'crowded' })
      recorder.record({ e: 'effect', t: micros(), p, ...step, accepted, saw })
      if (!inside.has(said.i)) {
        inside.set(said.i, said.line)
        tell({ tell: 'entered', line: said.line, p })
      }
      const answer: Answer = { i: said.i, accepted }
      socket.write(`${JSON.stringify(answer)}\n`)
    }
  })
}

const server = createServer(serve)
server.listen(process.argv[3], () => tell({ tell: 'listening' }))
process.on('disconnect', () => process.exit(0))
// Ctrl-C goes to the whole group; we stay until the conductor is done.
process.on('SIGINT', () => undefined)
