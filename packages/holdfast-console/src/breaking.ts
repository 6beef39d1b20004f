/**
 * `POST api/break`: the only change that the console can make. Each needs the token, and leaves a line in the audit.
 */
import type { IncomingMessage } from 'node:http'
import type { Holdfast } from 'holdfast'
import { carries, type Refusal } from './access.ts'
import { findLine, who } from 'holdfast/internal'
import type { Observer } from './observer.ts'
import type { AuditLine, ConsoleSettings } from './options.ts'
import type { BreakOrder } from './wire.ts'

const BODY_MAX = 64_000

export async function breakLock(
  req: IncomingMessage,
  hf: Holdfast,
  observer: Observer,
  { allowBreak, prefix }: ConsoleSettings,
): Promise<{ readonly broken: number } | Refusal> {
  if (allowBreak === null) return { status: 403, error: 'This console is read-only: start it with --allow-break.' }
  if (!/^application\/json\b/.test(req.headers['content-type'] ?? '')) {
    return { status: 415, error: 'The body must be application/json.' }
  }
  const order = orderOf(await bodyOf(req))
  if (order === null) return { status: 400, error: 'The body must be { name, now, tokens }.' }
  const { name, now, tokens } = order
  const line = {
    atMs: Date.now(),
    action: 'break',
    lock: name,
    now,
    broken: null,
    holders: observer.detail(name).holders.map(who),
    from: req.socket.remoteAddress ?? '',
    error: '',
  } as const satisfies AuditLine
  const refuse = (status: number, error: string, holders = line.holders): Refusal => {
    allowBreak.audit({ ...line, holders, error })
    return { status, error }
  }
  if (!carries(req, allowBreak.token))
    return refuse(401, 'Wrong token. The console printed the right one at its start.')
  if (!name.startsWith(prefix)) return refuse(404, 'This console does not show that lock.')
  try {
    // The last look may be many seconds old, and somebody else may have got the lock since then.
    const { holders: places } = await findLine(hf, name)
    const holders = places.map(who)
    if (places.length === 0) return refuse(409, 'Nobody holds the lock by now.', holders)
    if (places.map(({ token }) => String(token)).join() !== tokens.join()) {
      return refuse(409, 'Somebody else holds the lock by now. Look again, then decide.', holders)
    }
    const broken = await hf.break(name, { now })
    observer.markBroken(name)
    allowBreak.audit({ ...line, holders, broken })
    return { broken }
  } catch (error) {
    return refuse(502, error instanceof Error ? error.message : String(error))
  }
}

function orderOf(text: string | null): BreakOrder | null {
  try {
    const { name, now, tokens } = JSON.parse(text ?? '') as Partial<Record<keyof BreakOrder, unknown>>
    if (typeof name !== 'string' || typeof now !== 'boolean' || !Array.isArray(tokens)) return null
    return { name, now, tokens: tokens.map(String) }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null
    throw error
  }
}

/** null: the body is too long. */
async function bodyOf(req: IncomingMessage): Promise<string | null> {
  // If the console is mounted in an application, a framework may have read the body already.
  const parsed = (req as { readonly body?: unknown }).body
  if (parsed !== undefined) return JSON.stringify(parsed)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
