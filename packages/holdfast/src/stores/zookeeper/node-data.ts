/** The data of a place's node: the lease, whether it was broken, and the data for people. */

export interface NodeData {
  readonly ttlMs: number
  readonly broken: boolean
  readonly data: string
}

/** What Curator's Revoker writes; a revocable holder of Curator hears of it. */
export const REVOKE = '__REVOKE__'

/** The first line is ours, the rest is the entry's own. */
export function encodeNode(node: NodeData): Buffer {
  return Buffer.from(`${node.ttlMs}${node.broken ? ' broken' : ''}\n${node.data}`)
}

/** Another program may have written the data: what can't be read is shown as nothing. */
export function decodeNode(bytes: Buffer): NodeData {
  const text = bytes.toString()
  if (text === REVOKE) return { ttlMs: 0, broken: true, data: '' }
  const match = /^(\d{1,10})( broken)?\n/.exec(text)
  if (match === null) return { ttlMs: 0, broken: false, data: '' }
  return { ttlMs: Number(match[1]), broken: match[2] !== undefined, data: text.slice(match[0].length) }
}
