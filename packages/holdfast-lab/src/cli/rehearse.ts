/** `holdfast-lab rehearse`: the user's own critical section, paused at every await. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Given, nearest, print, type Syntax, usage } from 'holdfast/internal'
import { htmlReport, type Rehearsable, type Rehearsal, survey, textReport } from '../rehearse/index.ts'

export const syntax: Syntax = {
  command: 'rehearse',
  options: { html: 'value', json: 'flag' },
  operands: ['FILE', '[NAME]'],
  runs: false,
}

export const help: string = `Does your critical section survive a pause? Runs it on a simulated clock, with a lock in
memory: paused past its lease at every await and in every call of the resource in turn, while a second holder gets the
lock. Shows the first schedule that loses an update or acts after the loss, and names the assertHeld() or the guard that
is missing.

Usage: holdfast-lab rehearse FILE          every rehearsal that the module exports
       holdfast-lab rehearse FILE NAME     one of them

  --html FILE   writes a page with the timelines drawn
  --json        one JSON object for each rehearsal

A rehearsal is an exported object:
  { run: async ({ hf, resource }) => …, resource: () => new Stock(7), reads: ['left'] }
In a test suite: import { rehearse } from 'holdfast-lab/rehearse'. All options: docs/how-to/rehearse.md

Exit code: 0 all survive · 1 one does not · 64 usage

Examples:
  holdfast-lab rehearse sell.rehearsal.js
  holdfast-lab rehearse sell.rehearsal.js broken --html broken.html`

export async function execute(given: Given): Promise<number> {
  const [file, name] = given.operands
  if (file === undefined) throw usage(syntax, 'rehearse needs a FILE')
  if (!existsSync(file)) throw usage(syntax, `there is no file ${JSON.stringify(file)}`)
  const found = chosen(await load(file), file, name)
  const done: (readonly [string, Rehearsal])[] = []
  for (const [each, rehearsable] of found) {
    const rehearsal = await survey(rehearsable.run, rehearsable)
    done.push([each, rehearsal])
    print(given.flags.has('json') ? jsonOf(each, rehearsal) : `${each}: ${textReport(rehearsal)}\n`)
  }
  const html = given.values.get('html')
  if (html !== undefined) await writeFile(html, htmlReport(done))
  return done.every(([, { failure }]) => failure === null) ? 0 : 1
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    const isUnknown = error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_FILE_EXTENSION'
    if (!isUnknown) throw error
    const advice = "use Node 22.18 or later, or NODE_OPTIONS='--import tsx'"
    throw usage(syntax, `this Node can't load ${JSON.stringify(file)}: for TypeScript ${advice}`)
  }
}

function chosen(
  module: Readonly<Record<string, unknown>>,
  file: string,
  name: string | undefined,
): (readonly [string, Rehearsable<object>])[] {
  const all = Object.entries(module).flatMap(([key, value]) => (isRehearsable(value) ? [[key, value] as const] : []))
  if (all.length === 0)
    throw usage(syntax, `${JSON.stringify(file)} exports no rehearsal: an object with functions run and resource`)
  if (name === undefined) return all
  const one = all.filter(([key]) => key === name)
  if (one.length > 0) return one
  const names = all.map(([key]) => key)
  const meant = nearest(name, names)
  const hint = meant === null ? `; there are ${names.join(', ')}` : `; did you mean ${meant}?`
  throw usage(syntax, `there is no rehearsal ${JSON.stringify(name)} in ${JSON.stringify(file)}${hint}`)
}

function isRehearsable(value: unknown): value is Rehearsable<object> {
  if (typeof value !== 'object' || value === null) return false
  const { run, resource } = value as Partial<Rehearsable<object>>
  return typeof run === 'function' && typeof resource === 'function'
}

function jsonOf(name: string, rehearsal: Rehearsal): string {
  return JSON.stringify({ name, survived: rehearsal.failure === null, ...rehearsal })
}
