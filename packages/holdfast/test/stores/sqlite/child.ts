/** A client of the store in a process of its own, driven by messages: see client.ts. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Held } from '../../../src/hold/held.ts'
import { sqlite } from '../../../src/stores/sqlite/index.ts'
import { holdfast } from '../../../src/index.ts'
import type { Request } from './client.ts'

const [path = ''] = process.argv.slice(2)
const driver = sqlite(path)
const hf = await holdfast(driver)
const helds = new Map<string, Held>()

// oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive
async function serve(request: Request): Promise<unknown> {
  const { line, ttlMs = 60_000 } = request
  const lock = hf.mutex(line, { ttlMs, fairness: 'strict' })
  switch (request.op) {
    case 'acquire': {
      const held = await lock.acquire()
      helds.set(line, held)
      return String(held.token)
    }
    case 'release':
      return helds.get(line)?.release()
    case 'state':
      return helds.get(line)?.state
    case 'bind': {
      const command = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
      command.unref()
      if (command.pid === undefined) throw new Error('sleep could not be started')
      return [command.pid, await driver.alsoAlive(line, command.pid)]
    }
    case 'linger': {
      const entry = { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs, data: '{}' }
      const place = await driver.enter(entry, true)
      await driver.leave(entry, ttlMs)
      return String(place?.token)
    }
    case 'count':
      await Promise.all(Array.from({ length: 10 }, () => count(line)))
      return null
  }
}

/** Ten times: reads the number in a file, lets others run, and writes the next one. */
async function count(file: string): Promise<void> {
  const lock = hf.mutex('counter', { fairness: 'strict' })
  for (let i = 0; i < 10; i++) {
    await lock.using(async () => {
      const before = Number(readFileSync(file, 'utf8'))
      await new Promise((resolve) => setImmediate(resolve))
      writeFileSync(file, String(before + 1))
    })
  }
}

process.on('message', (request: Request) => {
  serve(request).then(
    (result) => process.send?.({ seq: request.seq, result }),
    (error: unknown) => process.send?.({ seq: request.seq, error: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
await driver.setup()
process.send?.({ seq: 0, result: process.pid })
