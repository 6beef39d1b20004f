/** `holdfast lab`: broken recipes, run on real servers until they break, each beside the remedy. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import { EXHIBITS } from '../lab/catalogue.ts'
import type { Exhibit, Report } from '../lab/exhibit.ts'
import { htmlReport } from '../lab/html.ts'
import { jsonExhibit, jsonReport } from '../lab/json.ts'
import { picture } from '../lab/picture.ts'
import { provide, runExhibit } from '../lab/run.ts'
import { Stage } from '../lab/stage.ts'
import { actText, endText, headText } from '../lab/text.ts'
import {
  complain,
  type Given,
  isStyled,
  nearest,
  print,
  signalExit,
  type Syntax,
  table,
  usage,
} from 'holdfast/internal'

export const syntax: Syntax = {
  command: 'lab',
  options: { all: 'flag', html: 'value', svg: 'value', json: 'flag', install: 'flag' },
  operands: ['[NAME]'],
  runs: false,
}

export const help: string = `Shows how locks break: well-known recipes run on real servers until they fail.
Beside each, Holdfast does the same job.

Usage: holdfast lab               lists the exhibits
       holdfast lab NAME          runs one, on servers of its own
       holdfast lab --all         runs them all, one after the other

  --html FILE   writes a page with the timelines drawn
  --svg FOLDER  writes a picture of each act: FOLDER/NAME-1.svg, FOLDER/NAME-2.svg, ...
  --json        one JSON object for each exhibit
  --install     installs the servers that are missing (Debian packages; needs root)

Each exhibit names the recipe and its source, runs it, draws who held what when, and counts the harm. Then comes the
same with Holdfast: impossible, caught or exposed, as it came out.

Exit code: 0 the exhibit showed what it says · 1 it did not · 64 usage · 69 a server is missing or does not start

Examples:
  holdfast lab flash-sale
  holdfast lab split-brain --html split-brain.html
  holdfast lab long-job --svg pictures
  holdfast lab --all --json`

const WIDTH_MAX = 120
/** For output that is not a terminal. */
const WIDTH_ELSEWHERE = 100

export async function execute(given: Given): Promise<number> {
  const exhibits = chosen(given)
  const html = given.values.get('html')
  const folder = given.values.get('svg')
  if (exhibits === null) {
    const needs = (['html', 'svg', 'install'] as const).find((name) => given.values.has(name) || given.flags.has(name))
    if (needs !== undefined) throw usage(syntax, `--${needs} needs the NAME of an exhibit, or --all`)
    print(given.flags.has('json') ? EXHIBITS.map(jsonExhibit).join('\n') : listing())
    return 0
  }
  await provide(exhibits, given.flags.has('install'))
  if (html !== undefined) await checkWritable('html', html, () => writeFile(html, ''))
  if (folder !== undefined) await checkWritable('svg', folder, () => mkdir(folder, { recursive: true }))
  const stage = new Stage()
  let interrupted: number | null = null
  const interrupt = (signal: NodeJS.Signals): void => {
    const code = signalExit(signal)
    interrupted = code
    complain('stopping: the servers and processes of the lab are ended first')
    // One of them may be stopped, which only we can end. What the exhibit waits for may never come now.
    void stage.close().finally(() => process.exit(code))
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, interrupt)
  // A wait for a message keeps no process alive, and all fifty of a herd may wait for a message that is on its way.
  const alive = setInterval(() => undefined, 60_000)
  try {
    const reports: Report[] = []
    for (const exhibit of exhibits) reports.push(await show(exhibit, stage, given.flags.has('json')))
    if (html !== undefined) await writeFile(html, htmlReport(reports))
    if (folder !== undefined) for (const report of reports) await writePictures(folder, report)
    return reports.every(({ shown }) => shown) ? 0 : 1
  } catch (error) {
    // Servers that go away under an exhibit are no finding.
    if (interrupted === null) throw error
    return interrupted
  } finally {
    await stage.close()
    clearInterval(alive)
    for (const signal of signals) process.off(signal, interrupt)
  }
}

async function show(exhibit: Exhibit, stage: Stage, json: boolean): Promise<Report> {
  if (!json) print(`${headText(exhibit)}\n`)
  const report = await runExhibit(exhibit, stage)
  if (json) {
    print(jsonReport(report))
    return report
  }
  const width = Math.min(WIDTH_MAX, Math.max(60, isatty(1) ? process.stdout.columns : WIDTH_ELSEWHERE))
  for (const [i, act] of report.acts.entries()) print(`${actText(act, i, width)}\n`)
  print(`${endText(report)}\n`)
  return report
}

async function writePictures(folder: string, report: Report): Promise<void> {
  for (const i of report.acts.keys()) {
    await writeFile(join(folder, `${report.exhibit.name}-${i + 1}.svg`), picture(report, i))
  }
}

/** Before a run of minutes, not after it. */
async function checkWritable(option: string, path: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write()
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw usage(syntax, `--${option} ${JSON.stringify(path)} can't be written (${why})`)
  }
}

/** null: none, so list them. */
function chosen(given: Given): readonly Exhibit[] | null {
  const [name] = given.operands
  if (given.flags.has('all')) {
    if (name !== undefined) throw usage(syntax, `--all and ${JSON.stringify(name)} can't be given together`)
    return EXHIBITS
  }
  if (name === undefined) return null
  const found = EXHIBITS.find((exhibit) => exhibit.name === name)
  if (found !== undefined) return [found]
  const meant = nearest(
    name,
    EXHIBITS.map((exhibit) => exhibit.name),
  )
  const hint = meant === null ? '; holdfast lab lists them' : `; did you mean ${meant}?`
  throw usage(syntax, `there is no exhibit ${JSON.stringify(name.slice(0, 40))}${hint}`)
}

function listing(): string {
  const rows = EXHIBITS.map(({ name, title, servers, kind }) => [name, servers.join(', '), kind, title])
  const columns = [{ title: 'EXHIBIT' }, { title: 'SERVERS' }, { title: 'SCHEDULE' }, { title: 'WHAT IT SHOWS' }]
  return `${table(columns, rows, isStyled())}\n\nholdfast lab NAME runs one.`
}
