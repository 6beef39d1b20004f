/** Run as a process of its own: shows what keeps a process alive. Prints 'end' when it ends by itself. */
import { writeSync } from 'node:fs'
import { Connection } from '../../../src/clients/redis/index.ts'
import { freePort } from '../../../../holdfast-lab/src/testbed/port.ts'

const [mode, port] = [process.argv[2], Number(process.argv[3])]
process.on('exit', () => say('end'))

function say(line: string): void {
  writeSync(1, `${line}\n`)
}

// Time-outs of days: a timer that was left behind would hold the process for as long.
const forDays = { connectTimeoutMs: 500_000_000, commandTimeoutMs: 500_000_000 }
const connection = new Connection({ port, ref: mode === 'ref', ...forDays })
await connection.connect()
await connection.command(['PING'])
if (mode === 'ref') {
  await connection.subscribe('to-process', (message) => {
    say(message)
    void connection.close()
  })
}
say('ready')
if (mode === 'pending') {
  const nobody = new Connection({ port: await freePort(), commandTimeoutMs: 300 })
  await nobody.command(['PING']).catch((error: { reason: string }) => say(`rejected ${error.reason}`))
}
