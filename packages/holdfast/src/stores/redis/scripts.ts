/** The scripts of lines, cells and rate limits. */
import {
  BREAK,
  ENTER,
  ENTER_ALL,
  LEAVE,
  OBSERVE,
  RENAME,
  REWEIGH,
  SWAP,
  TAKE,
  TOUCH,
  VIEW,
} from './scripts.generated.ts'
import { type Script, script } from '../../clients/redis/script.ts'

type Name =
  | 'enter'
  | 'enterAll'
  | 'rename'
  | 'reweigh'
  | 'touch'
  | 'leave'
  | 'break'
  | 'view'
  | 'observe'
  | 'swap'
  | 'take'

const LUA: Readonly<Record<Name, string>> = {
  enter: ENTER,
  enterAll: ENTER_ALL,
  rename: RENAME,
  reweigh: REWEIGH,
  touch: TOUCH,
  leave: LEAVE,
  break: BREAK,
  view: VIEW,
  observe: OBSERVE,
  swap: SWAP,
  take: TAKE,
}

export type Scripts = Readonly<Record<Name, Script>>

/** How the scripts find what stands before the name in the key of a line: there begin the channels, too. */
const BEFORE_NAME = "'^[^{]*'"
const USUAL: Scripts = made((lua) => lua)

/**
 * A prefix of ours has no brace, so what stands before the first brace is the prefix. ioredis puts a `keyPrefix` of its
 * user's before it, and that may have braces: there the scripts count the bytes instead, and are others by that.
 */
export function scriptsFor(prefix: string): Scripts {
  if (!prefix.includes('{')) return USUAL
  const bytes = Buffer.byteLength(`${prefix}:`)
  return made((lua) => lua.replaceAll(BEFORE_NAME, `'^${'.'.repeat(bytes)}'`))
}

function made(fit: (lua: string) => string): Scripts {
  const entries = Object.entries(LUA).map(([name, lua]) => [name, script(fit(lua))] as const)
  return Object.freeze(Object.fromEntries(entries)) as Scripts
}
