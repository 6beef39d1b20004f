/** What the samples of the documentation use without saying where it comes from: a program that has it all. */

/** Types of packages that bring none, as their packages of types have them. */
export const PACKAGES = `
declare module 'express' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  export interface Request<P = Record<string, string>> extends IncomingMessage {
    readonly params: P
    readonly ip: string | undefined
    get(name: string): string | undefined
  }
  export interface Response extends ServerResponse {}
  type Params<Path extends string> = Path extends \`\${string}:\${infer Name}\` ? { [name in Name]: string } : {}
  export type Handler<P = any> = (request: Request<P>, response: Response, next: (error?: unknown) => void) => unknown
  export interface Express {
    use(...handlers: Handler[]): void
    use(path: string, ...handlers: Handler[]): void
    put<Path extends string>(path: Path, ...handlers: Handler<Params<Path>>[]): void
  }
}
declare module 'pg' {
  export interface PoolClient {
    query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount: number | null }>
  }
  export class Pool {
    query(text: string, values?: unknown[]): Promise<{ rows: any[]; rowCount: number | null }>
    connect(): Promise<PoolClient & { release(): void }>
  }
}
`

export const PRELUDE = `
declare const hf: import('holdfast').Holdfast
declare const held: import('holdfast').Held
declare const limiter: import('holdfast').Limiter
declare const signal: AbortSignal
declare const userId: string
declare const url: string
declare const service: string
declare const body: string

declare const app: import('express').Express
declare const fastify: import('fastify').FastifyInstance
declare const handler: import('express').Handler

declare const client: import('ioredis').Redis
declare const pool: import('pg').Pool
declare const tx: import('pg').PoolClient
declare const connection: import('mysql2/promise').PoolConnection
declare const db: import('libsql').Database
declare function inTransaction<T>(
  pool: import('pg').Pool,
  work: (tx: import('pg').PoolClient) => Promise<T>,
): Promise<T>

declare function sell(order: { readonly token: bigint }): Promise<void>
declare function work(): Promise<void>
declare function report(signal: AbortSignal): Promise<void>
declare function read(): Promise<string>
declare function change(plan: string): string
declare function save(plan: string): Promise<void>

// A page imports a name once, and goes on to use it.
declare const holdfast: typeof import('holdfast').holdfast
declare const etcd: typeof import('holdfast/etcd').etcd
declare const zookeeper: typeof import('holdfast/zookeeper').zookeeper
declare const sqlGuard: typeof import('holdfast/fence').sqlGuard
declare const redisGuard: typeof import('holdfast/fence').redisGuard
declare const etcdGuard: typeof import('holdfast/fence').etcdGuard
declare const fencedFetch: typeof import('holdfast/fence').fencedFetch
declare const fenceHeaders: typeof import('holdfast/fence').fenceHeaders
declare const fenceLua: typeof import('holdfast/fence').fenceLua
declare const proofOf: typeof import('holdfast/fence').proofOf
declare const staleReply: typeof import('holdfast/fence').staleReply
`

/** Runs a sample of the README with real things in the place of what it takes for granted. */
export const RUN = `
import express from 'express'
import { Redis } from 'ioredis'
import pg from 'pg'
import { holdfast } from 'holdfast'
import { sqlGuard } from 'holdfast/fence'

const [sample, redisUrl, postgresUrl] = process.argv.slice(2)
const client = new Redis(redisUrl)
const pool = new pg.Pool({ connectionString: postgresUrl })
await sqlGuard().setup(pool)
const tx = await pool.connect()
await tx.query('BEGIN')
const app = express()
const served = []
const handler = (request, response) => {
  served.push(request.params.id)
  response.end('done')
}
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const hf = await holdfast(redisUrl)
const held = await hf.mutex('stock:42').acquire()
const sold = []
Object.assign(globalThis, {
  client, tx, app, handler, held,
  service: 'http://127.0.0.1:' + server.address().port,
  signal: AbortSignal.timeout(60_000),
  sell: async ({ token }) => sold.push(token),
})
await import(sample)
await tx.query('COMMIT')
console.log(JSON.stringify({ sold: sold.length, served, left: await client.get('{stock:42}:left') }))
await hf.close()
tx.release()
await pool.end()
client.disconnect()
server.closeAllConnections()
server.close()
`
