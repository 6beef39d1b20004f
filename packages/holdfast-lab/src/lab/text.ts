/** A report for a terminal. */
import { draw, LEGEND } from './draw.ts'
import type { Act, Exhibit, Figure, Report, Result } from './exhibit.ts'

export const RESULT_TEXT: Readonly<Record<Result, string>> = {
  harm: 'HARM',
  'no harm': 'no harm',
  impossible: 'IMPOSSIBLE: the same was done, and nothing came of it',
  caught: 'CAUGHT: it was tried, and refused',
  exposed: 'EXPOSED: it happens here as well',
}

export const BY_TEXT: Readonly<Record<Act['by'], string>> = {
  recipe: 'the recipe',
  remedy: 'a remedy',
  holdfast: 'Holdfast',
}

export function headText({ name, title, recipe, source, kind }: Exhibit): string {
  const forced =
    kind === 'deterministic'
      ? 'step by step: it comes out like this every time'
      : 'only in its beginning: what comes of it is counted'
  return [`${name}: ${title}`, `  recipe   ${recipe}`, `  said by  ${source}`, `  forced   ${forced}`].join('\n')
}

export function actText(act: Act, index: number, width: number): string {
  const lines = [`(${index + 1}) ${BY_TEXT[act.by]}: ${act.title}`, '']
  lines.push(...draw(act.timeline, width - 2).map((line) => (line === '' ? '' : `  ${line}`)), '')
  lines.push(`  → ${RESULT_TEXT[act.result]}`)
  for (const each of figuresOf(act)) lines.push(`    ${shownFigure(each)}`)
  if (act.result !== act.claim) lines.push(`  ✗ NOT AS SAID: this was to end with: ${RESULT_TEXT[act.claim]}`)
  return lines.join('\n')
}

export function endText({ exhibit, versions, ms, shown }: Report): string {
  const came = shown ? 'shown' : 'NOT SHOWN'
  return `${exhibit.lesson}\n${exhibit.name}: ${came} (${versions}, ${(ms / 1_000).toFixed(1)} s)\n${LEGEND}`
}

/** All figures of an act, the harm first. */
export function figuresOf({ harm, caught = 0, figures = [] }: Act): Figure[] {
  return [harm, ...(caught > 0 ? [{ name: 'tried and refused', value: caught }] : []), ...figures]
}

export function shownFigure({ name, value, unit }: Figure): string {
  const number = Number.isInteger(value) ? String(value) : value.toFixed(1)
  return `${name}: ${number}${unit === undefined ? '' : ` ${unit}`}`
}
