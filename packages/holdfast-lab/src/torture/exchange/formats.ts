/** The formats that a history can be exported in. */
import { UsageError } from 'holdfast'
import type { Trial } from '../checker/trial.ts'
import { knossos } from './knossos.ts'
import { listAppend, type Resource } from './list-append.ts'
import { porcupine } from './porcupine.ts'

export const FORMATS = ['porcupine', 'edn', 'list-append'] as const

export type Format = (typeof FORMATS)[number]

export function isFormat(name: string): name is Format {
  return (FORMATS as readonly string[]).includes(name)
}

export interface ExportOptions {
  readonly format: Format
  /** For `edn`: which mutex; its name or the end of it. Needed where there are several. */
  readonly line: string | null
  /** For `list-append`: which list. */
  readonly resource: Resource
}

/** Line by line. */
export function exported(trial: Trial, { format, line, resource }: ExportOptions): Generator<string> {
  if (format === 'porcupine') return porcupine(trial)
  if (format === 'edn') return knossos(trial, mutexNamed(trial, line))
  const hasLists = [...trial.lines.values()].some(({ effects }) => effects.some(({ saw }) => saw !== undefined))
  if (!hasLists) throw new UsageError('this history says nothing of lists: its run was made by an older version')
  return listAppend(trial, resource)
}

/** Knossos knows one mutex at a time. */
function mutexNamed(trial: Trial, wanted: string | null): string {
  const names = [...trial.lines.values()].filter(({ spec }) => spec.kind === 'mutex').map(({ spec }) => spec.name)
  const chosen = wanted === null ? names : names.filter((name) => name === wanted || name.endsWith(`:${wanted}`))
  const [only] = chosen
  if (only !== undefined && chosen.length === 1) return only
  const asked = wanted === null ? 'Knossos judges one mutex at a time' : `--line ${JSON.stringify(wanted)} is no mutex`
  throw new UsageError(`${asked}; choose one with --line: ${names.join(', ') || 'there is none in this history'}`)
}
