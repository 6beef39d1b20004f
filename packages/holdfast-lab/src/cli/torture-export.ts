/** `holdfast torture export`: writes a history for other checkers. */
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { type Given, nearest, type Syntax, usage } from 'holdfast/internal'
import { makeTrial } from '../torture/checker/trial.ts'
import { exported, FORMATS, isFormat } from '../torture/exchange/formats.ts'
import { readHistory } from '../torture/history/read.ts'

export async function exportHistory(syntax: Syntax, given: Given, file: string): Promise<number> {
  const format = given.values.get('format')
  if (format === undefined) throw usage(syntax, `torture export needs a --format: ${FORMATS.join(', ')}`)
  if (!isFormat(format)) {
    const meant = nearest(format, FORMATS)
    const hint = meant === null ? `there are ${FORMATS.join(', ')}` : `did you mean ${meant}?`
    throw usage(syntax, `--format ${JSON.stringify(format)} is not known; ${hint}`)
  }
  const lines = exported(makeTrial(readHistory(file)), {
    format,
    line: given.values.get('line') ?? null,
    resource: given.flags.has('open') ? 'open' : 'guarded',
  })
  const to = given.values.get('to')
  const out = to === undefined ? process.stdout : createWriteStream(to)
  for (const line of lines) if (!out.write(`${line}\n`)) await once(out, 'drain')
  if (to !== undefined) {
    out.end()
    await once(out, 'finish')
  }
  return 0
}
