/**
 * Servers that answer and give no votes for a while: they may have forgotten some, or their clocks can't be trusted.
 */
import { StoreUnreachableError } from '../../contract/errors.ts'

export class SilentError extends StoreUnreachableError {
  readonly where: string
  readonly leftMs: number
  readonly why: string

  constructor(where: string, leftMs: number, why: string) {
    super(tellSilence([where], leftMs, why))
    this.where = where
    this.leftMs = leftMs
    this.why = why
  }
}

/** The server did nothing, since its marker is not what the asker was told: asked again by what it says now, it may. */
export class ChangedError extends StoreUnreachableError {
  constructor(where: string) {
    super(`Redis at ${where} was asked while the servers of the deployment changed, or it lost its marker`)
  }
}

/**
 * What the servers said, each thing once: after a power cut all of them are silent, for the same reason and about as
 * long.
 */
export function tellReasons(errors: readonly Error[]): string[] {
  const silent = new Map<string, SilentError[]>()
  const reasons = new Set<string>()
  for (const error of errors) {
    if (!(error instanceof SilentError)) {
      reasons.add(error.message)
      continue
    }
    const alike = silent.get(error.why)
    if (alike === undefined) silent.set(error.why, [error])
    else alike.push(error)
  }
  for (const [why, alike] of silent) {
    const servers = alike.map(({ where }) => where).toSorted()
    reasons.add(tellSilence([...new Set(servers)], Math.max(...alike.map(({ leftMs }) => leftMs)), why))
  }
  return [...reasons]
}

function tellSilence(servers: readonly string[], leftMs: number, why: string): string {
  const verb = servers.length === 1 ? 'gives' : 'give'
  return `Redis at ${servers.join(', ')} ${verb} no votes${leftMs > 0 ? ` for another ${leftMs} ms` : ''}: ${why}`
}
