/** A Lua script and the name that Redis knows it by. */
import { createHash } from 'node:crypto'

export interface Script {
  readonly lua: string
  /** Lower-case hex, as EVALSHA wants it. */
  readonly sha1: string
  /** How a call of it begins on our own connection. */
  readonly head: string
}

/** Makes a script; nothing is sent until a connection runs it. */
export function script(lua: string): Script {
  const sha1 = createHash('sha1').update(lua, 'utf8').digest('hex')
  // As encode.ts writes it, which whoever has a client of its own does not need.
  return Object.freeze({ lua, sha1, head: `$7\r\nEVALSHA\r\n$40\r\n${sha1}\r\n` })
}
