/** How often a command that watches looks again. */
import { checkWhole } from '../contract/check.ts'
import type { Given } from './args.ts'
import { parseDuration } from './duration.ts'
import { type Option, value } from './option.ts'

export const INTERVAL: Option = value('2s', 'how often to look; from 100ms to 24h')

const INTERVAL_MS = 2_000

export function readInterval(given: Given): number {
  const text = given.values.get('interval')
  const ms = text === undefined ? INTERVAL_MS : parseDuration('--interval', text)
  return checkWhole('--interval in milliseconds', ms, 100, 86_400_000)
}
