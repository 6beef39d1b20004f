/** Reads `--limits`: which limiters the console shows. */
import { UsageError } from 'holdfast'
import { parseDuration } from 'holdfast/internal'
import type { WatchedLimiter } from '../options.ts'

const FORM = "'NAME=100/1s:KEY,KEY', several with ; between them"

export function readLimits(text: string): WatchedLimiter[] {
  return text
    .split(';')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [, name = '', limit = '', per = '', burst, keys = ''] =
        /^(.+?)=(\d+)\/([\d.]+[a-z]+)(?:\/(\d+))?:(.+)$/.exec(part.trim()) ?? []
      if (name === '') throw new UsageError(`--limits must be ${FORM}, given ${JSON.stringify(part.slice(0, 80))}`)
      return {
        name,
        limit: Number(limit),
        perMs: parseDuration('--limits', per),
        ...(burst === undefined ? {} : { burst: Number(burst) }),
        keys: keys.split(','),
      }
    })
}
