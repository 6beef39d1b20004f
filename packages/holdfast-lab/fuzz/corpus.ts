/** Inputs that reached something: kept in one file for each target, a line of base64 each. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Of one target; all of them together stay small enough to be read in a review. */
const BYTES_MAX = 12_000
const INPUT_BYTES_MAX = 400

function fileOf(target: string): string {
  return fileURLToPath(new URL(`corpus/${target}.txt`, import.meta.url))
}

export function readCorpus(target: string): Buffer[] {
  const file = fileOf(target)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'))
}

/** Keeps the shortest of them, as many as there is room for. */
export function keepCorpus(target: string, inputs: readonly Uint8Array[]): number {
  const lines = new Set(inputs.map((input) => Buffer.from(input).toString('base64')))
  const kept: string[] = []
  let bytes = 0
  for (const line of [...lines].toSorted((a, b) => a.length - b.length)) {
    bytes += line.length + 1
    if (line.length > INPUT_BYTES_MAX || bytes > BYTES_MAX) break
    kept.push(line)
  }
  mkdirSync(new URL('corpus/', import.meta.url), { recursive: true })
  writeFileSync(fileOf(target), `${kept.join('\n')}\n`)
  return kept.length
}
