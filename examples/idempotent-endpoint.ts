/** An endpoint that charges once, however often and to whichever replica a request with the same key is sent. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Holdfast, holdfast } from 'holdfast'
import { closeWithServer } from 'holdfast/http'

const store = process.argv[2] ?? 'memory:idempotent'
let charges = 0

function replica(hf: Holdfast) {
  return createServer((request, response) => {
    const key = `charge:${String(request.headers['idempotency-key'])}`
    const answered = hf.mutex(key).using(async () => {
      const answer = hf.cell<{ charge: number }>(key)
      const { value, version } = await answer.read()
      if (value !== undefined) return value
      const fresh = { charge: ++charges }
      await answer.write(fresh, version)
      return fresh
    })
    answered.then(
      (value) => response.end(JSON.stringify(value)),
      () => response.writeHead(503).end(),
    )
  })
}

const instances = [await holdfast(store), await holdfast(store)]
const servers = instances.map(replica)
for (const server of servers) await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const post = async (i: number, key: string): Promise<string> => {
  const { port } = (servers[i % 2] as (typeof servers)[number]).address() as AddressInfo
  const headers = { 'idempotency-key': key, connection: 'close' }
  return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers })).text()
}

const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => post(i, 'order-7')))
console.log(`${new Set(answers).size} answer, ${charges} charge`)
for (const [i, server] of servers.entries()) await closeWithServer(server, instances[i] as Holdfast)
