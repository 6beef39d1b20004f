/** The client objects that a user may give, typed by the members that are called: no package's types are needed. */

/** Values as the server writes them: the user's parsers, of a pool or of all `pg`, are for the user's own queries. */
export const AS_SENT = { getTypeParser: (): ((text: string) => string) => String }

/** The members of a `pg` Pool that we call. */
export interface PgPool {
  query(config: {
    readonly name?: string
    readonly text: string
    readonly values?: readonly unknown[]
    readonly rowMode?: 'array'
    readonly query_timeout?: number
    readonly types?: { getTypeParser(): (text: string) => unknown }
  }): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number | null }>
}

/** Rows as arrays, and how many were changed. */
export type PostgresRows = unknown[][] & { readonly count?: number | null }

/** The members of a `postgres` sql object that we call. */
export interface PostgresSql {
  (template: TemplateStringsArray, ...values: never[]): unknown
  unsafe(
    text: string,
    values?: never[],
    options?: { prepare?: boolean },
  ): { values(): PromiseLike<PostgresRows>; simple(): PromiseLike<unknown> }
  listen(
    channel: string,
    heard: (payload: string) => void,
    opened?: () => void,
  ): PromiseLike<{ unlisten(): PromiseLike<void> }>
}
