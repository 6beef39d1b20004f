/** The members of `pg` that we call; the package is the user's, and brings no types of its own. */
declare module 'pg' {
  import type { EventEmitter } from 'node:events'

  export interface QueryConfig {
    name?: string
    text: string
    values?: readonly unknown[]
    rowMode?: 'array'
    types?: { getTypeParser(): (text: string) => unknown }
    query_timeout?: number
  }
  interface Config {
    connectionString?: string
    max?: number
    keepAlive?: boolean
    keepAliveInitialDelayMillis?: number
    allowExitOnIdle?: boolean
    connectionTimeoutMillis?: number
    idleTimeoutMillis?: number
    query_timeout?: number
    application_name?: string
    pipeline?: boolean
    options?: string
    types?: { getTypeParser(): (text: string) => unknown }
  }
  export class Client extends EventEmitter {
    constructor(config: Config)
    connect(): Promise<void>
    query(config: QueryConfig | string): Promise<{ rows: unknown[][]; rowCount: number | null }>
    end(): Promise<void>
    ref(): void
    unref(): void
    readonly processID: number | null
    readonly connection: { readonly stream: { destroy(): void } }
    escapeIdentifier(name: string): string
  }
  export class Pool extends EventEmitter {
    constructor(config: Config)
    query(config: QueryConfig | string): Promise<{ rows: unknown[][]; rowCount: number | null }>
    connect(): Promise<Client & { release(error?: Error | boolean): void }>
    end(): Promise<void>
  }
}
