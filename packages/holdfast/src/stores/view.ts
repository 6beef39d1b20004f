/** How drivers turn a stored place into what people see. */
import type { PlaceView } from '../contract/driver.ts'

interface Stored {
  readonly token: bigint
  readonly weight: number
  readonly data: string
}

export function placeView(stored: Stored, times: { readonly ageMs: number; readonly leftMs: number }): PlaceView {
  const who = readObject(stored.data)
  return {
    token: stored.token,
    weight: stored.weight,
    ageMs: Math.max(0, Math.round(times.ageMs)),
    leftMs: Math.max(0, Math.round(times.leftMs)),
    label: typeof who.label === 'string' ? who.label : '',
    host: typeof who.host === 'string' ? who.host : '',
    pid: typeof who.pid === 'number' ? who.pid : 0,
    ...(typeof who.value === 'string' ? { value: who.value } : {}),
    ...readHolds(who.holds),
  }
}

function readHolds(holds: unknown): Pick<PlaceView, 'holds'> {
  if (!Array.isArray(holds)) return {}
  const read = holds.flatMap((held: unknown) => {
    const [line, token] = Array.isArray(held) ? (held as unknown[]) : []
    return typeof line === 'string' && typeof token === 'string' && /^\d{1,19}$/.test(token)
      ? [{ line, token: BigInt(token) }]
      : []
  })
  return read.length === 0 ? {} : { holds: read }
}

/** A JSON object that another program may have written. A text that is none says nothing: the answer is empty. */
export function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}
