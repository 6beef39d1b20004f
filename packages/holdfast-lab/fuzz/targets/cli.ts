/** Command lines, and what other people's names look like on a terminal. Nothing is run: only read and laid out. */
import { parseArgs } from '../../../holdfast/src/cli/args.ts'
import type { Command } from '../../../holdfast/src/cli/command.ts'
import { COMMANDS } from '../../../holdfast/src/cli/commands.ts'
import { parseDuration } from '../../../holdfast/src/cli/duration.ts'
import { readPlan, syntax as runSyntax } from '../../../holdfast/src/cli/plan.ts'
import { clip, printable, width } from '../../../holdfast/src/cli/table.ts'
import { jobTable, lineJson, lineTable, placeTable } from '../../../holdfast/src/cli/view.ts'
import { attempt, Fault, type Target, textOf } from '../target.ts'

const commands: Command[] = []

/** No sequence that a terminal obeys: no control character but the line breaks between rows. */
function mustBeHarmless(text: string): void {
  const found = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.exec(text.replaceAll('\n', ''))
  if (found !== null) throw new Fault(`U+${found[0].codePointAt(0)?.toString(16)} reaches the terminal`)
}

export const cli: Target = {
  name: 'cli',
  says: 'command lines, names on a terminal',
  seeds: [
    'run\0stock:42\0--store\0redis://h\0--ttl\x0030s\0--\0make\0all',
    'run\0a\0--permits=1/3\0--wait\x0010m\0--\0x',
    'ls\0pre\0--json\0--watch\0--interval\x002s',
    'limit\0api\0--rate\x0010/1s\0--\0curl',
    'once\0nightly\0--every\x001h\0--\0./job',
    'elect\0leader\0--value\0http://me\0--\0x',
    'break\0stock:42\0--yes',
    '\x1b[31mred\x1b]0;title\x07',
    '{"startedMs":1,"endedMs":null,"ok":true,"host":"h","pid":1}',
  ].map((text) => Buffer.from(text, 'latin1')),
  words: [
    '\0',
    '--',
    '--store',
    '--ttl=',
    '-h',
    '--json',
    '--cron',
    '1h',
    '0.5s',
    '\x1b[2J',
    '\u202e',
    '\x9b',
    '\n',
    '\r',
    '"',
  ],
  async open() {
    for (const [name, { load }] of Object.entries(COMMANDS)) {
      if (!['ui', 'torture', 'lab'].includes(name)) commands.push(await load())
    }
  },
  run(input) {
    const text = textOf(input)
    const args = text.split('\0')
    for (const { syntax } of commands) attempt(() => parseArgs(syntax, args.slice(1)))
    attempt(() => readPlan(parseArgs(runSyntax, args.slice(1))))
    attempt(() => parseDuration('--ttl', text))
    const shown = printable(text)
    mustBeHarmless(shown)
    width(clip(shown, input[0] ?? 0))
    const place = { token: 1n, host: text, pid: 1, label: text, value: text, weight: 1, ageMs: 1, leftMs: 1 }
    const line = { name: text, capacity: 1, holders: [place], waiters: [place] }
    mustBeHarmless(lineTable([line], false))
    mustBeHarmless(placeTable(line, false))
    // JSON for a pipe may have what JSON allows, but no line break and no escape sequence.
    // oxlint-disable-next-line no-control-regex
    if (/[\u0000-\u001f]/.test(lineJson(line))) throw new Fault('a control character in JSON')
    const run = { dueMs: 0, startedMs: Number(text), endedMs: null, ok: null, host: text, pid: 1 }
    mustBeHarmless(jobTable([[text, run]], 0, false))
  },
}
