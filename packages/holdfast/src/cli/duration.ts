/**
 * Times as people write them on the command line: `500ms`, `30s`, `2m`, `1h`. Everywhere else they are milliseconds.
 */
import { UsageError } from '../contract/errors.ts'

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** `option` is the option whose value is the time, such as `--ttl`. */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text)
  const unitMs = UNIT_MS[match?.[2] ?? '']
  const ms = Math.round(Number(match?.[1]) * (unitMs ?? Number.NaN))
  if (!Number.isSafeInteger(ms)) {
    const hint = /^\d+$/.test(text) ? `; did you mean ${text}s?` : ''
    throw new UsageError(
      `${option} must be a time such as 500ms, 30s, 2m or 1h, given ${JSON.stringify(text.slice(0, 80))}${hint}`,
    )
  }
  return ms
}

/** For people: two units at most. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  // Rounded first, so that 59.96 s is not shown as 60.0s.
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)}s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${pad(seconds % 60)}s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h${pad(minutes % 60)}m`
  return `${Math.floor(minutes / 1_440)}d${pad(Math.floor((minutes % 1_440) / 60))}h`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
