/** The laws that the model judges, in words, and the files with the schedules that break them. */
import { fileURLToPath } from 'node:url'
import type { Searched } from './spin.ts'

export const LAWS: Readonly<Record<Exclude<Searched['found'], 'none'>, string>> = {
  exclusion: 'Two hold at once',
  tokens: 'The token of the later hold is not larger than that of the earlier one',
  unserved: 'Somebody waits, and nothing more can happen',
}

/** The file of the shortest schedule that refutes a scheme. */
export function counterExampleFile(name: string): string {
  return fileURLToPath(new URL(`../../promela/counter-examples/${name}.txt`, import.meta.url))
}
