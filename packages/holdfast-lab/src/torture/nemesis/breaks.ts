/** The fault of an operator: breaks the lock of its holders. */
import type { Blow } from './blow.ts'
import type { Field } from './field.ts'
import type { NemesisName } from './names.ts'

type Aim = (field: Field) => Promise<Blow | null>

function breakLine(now: boolean): Aim {
  return async (field) => {
    const line = await field.busyLine()
    if (line === null) return null
    return { target: line, line, lastsMs: 0, strike: () => field.breakLine(line, now), heal: () => undefined }
  }
}

export const LINE_AIMS: Readonly<Partial<Record<NemesisName, Aim>>> = {
  break: breakLine(false),
  'break-now': breakLine(true),
}

/** With `now` the store forgets the holders while they still act. */
export function forgetsHolders(name: NemesisName): boolean {
  return name === 'break-now'
}
