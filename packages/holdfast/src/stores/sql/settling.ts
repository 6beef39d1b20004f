/**
 * One request to a SQL server until it is settled: victims are sent again, all other failures are told in our own
 * terms.
 */
import { StoreError } from '../../contract/errors.ts'

/** What the errors of one server mean, and which tables it was asked for. */
export interface Judge {
  /** In the messages: 'postgres' or 'mysql'. */
  readonly store: string
  /** Where the tables are looked for, in the messages. */
  readonly where: string
  /** The version of the tables that this Holdfast needs. */
  readonly needed: number
  /** Deadlock and the like: rolled back as a whole, and may be sent again at once. */
  isVictim(error: unknown): boolean
  isSchemaMissing(error: unknown): boolean
  toStoreError(error: unknown): Error
  /** The version of the tables that are there; null: none. */
  version(): Promise<number | null>
}

/** Sent again so often: who loses that many deadlocks in a row meets something that is no accident. */
const VICTIM_TRIES = 10

/** The answer; a victim did nothing, and is sent again. */
export async function settle<T>(ask: () => Promise<T>, judge: Judge): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (judge.isVictim(error) && tries < VICTIM_TRIES) continue
      throw judge.isSchemaMissing(error) ? await unfit(judge, error) : judge.toStoreError(error)
    }
  }
}

async function unfit(judge: Judge, cause: unknown): Promise<Error> {
  try {
    return schemaError(judge, await judge.version(), cause)
  } catch (error) {
    return judge.toStoreError(error)
  }
}

/** Tells what to run about tables that are missing, older or newer than this version of Holdfast needs. */
export function schemaError(
  { store, where, needed }: Pick<Judge, 'store' | 'where' | 'needed'>,
  found: number | null,
  cause?: unknown,
): StoreError {
  if (found !== null && found > needed) {
    return new StoreError(
      `${store}: the tables ${where} are of version ${found}, newer than the ${needed} that this Holdfast ` +
        `knows; install a newer Holdfast`,
      { cause },
    )
  }
  const state = found === null ? `no Holdfast tables ${where}` : `the tables ${where} are of version ${found}`
  return new StoreError(
    `${store}: ${state}, version ${needed} is needed; run \`holdfast migrate --store URL\` or await hf.setup()`,
    { cause },
  )
}
