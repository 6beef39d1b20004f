/** A report for programs: one object. */
import type { Act, Exhibit, Report } from './exhibit.ts'
import { figuresOf } from './text.ts'

export function jsonReport({ exhibit, acts, versions, ms, shown }: Report): string {
  return JSON.stringify({ ...about(exhibit), versions, ms: Math.round(ms), shown, acts: acts.map(actObject) })
}

export function jsonExhibit(exhibit: Exhibit): string {
  return JSON.stringify(about(exhibit))
}

function about({ name, title, recipe, source, lesson, servers, kind }: Exhibit): object {
  return { name, title, recipe, source, lesson, servers, kind }
}

function actObject(act: Act): object {
  const { title, by, claim, result, harm, caught = 0, timeline } = act
  const figures = Object.fromEntries(figuresOf(act).map(({ name, value }) => [name, value]))
  return { title, by, claim, result, harm: { fine: 0, ...harm }, caught, figures, timeline }
}
