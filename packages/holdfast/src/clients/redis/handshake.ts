/** HELLO, AUTH, SELECT: what has to be said before the first command. */
import type { Argument } from './encode.ts'
import { HandshakeError, ReplyError } from './errors.ts'
import type { ResolvedOptions } from './options.ts'
import type { Reply } from './reply.ts'

type Ask = (args: readonly Argument[]) => Promise<Reply>

/** Greets the server; gives the protocol agreed on. Rejects with a HandshakeError when it refuses. */
export async function shakeHands(ask: Ask, options: ResolvedOptions): Promise<2 | 3> {
  try {
    const protocol = options.protocol === 3 && (await hello(ask, options)) ? 3 : 2
    if (protocol === 2) await greetInResp2(ask, options)
    if (options.db !== 0) await ask(['SELECT', options.db])
    return protocol
  } catch (error) {
    if (error instanceof ReplyError) throw refused(error, options)
    throw error
  }
}

/** Gives false when the server knows no HELLO or no RESP3. */
async function hello(ask: Ask, options: ResolvedOptions): Promise<boolean> {
  const { username = 'default', password, clientName } = options
  const args = ['HELLO', '3']
  if (password !== undefined) args.push('AUTH', username, password)
  if (clientName !== undefined) args.push('SETNAME', clientName)
  try {
    await ask(args)
    return true
  } catch (error) {
    if (error instanceof ReplyError && (error.kind === 'NOPROTO' || /^ERR unknown command/i.test(error.reply)))
      return false
    throw error
  }
}

async function greetInResp2(ask: Ask, options: ResolvedOptions): Promise<void> {
  const { username, password, clientName } = options
  if (password !== undefined) await ask(username === undefined ? ['AUTH', password] : ['AUTH', username, password])
  if (clientName === undefined) return
  try {
    await ask(['CLIENT', 'SETNAME', clientName])
  } catch (error) {
    // The name is for people reading CLIENT LIST: a user who may not set it can still lock.
    if (!(error instanceof ReplyError && error.kind === 'NOPERM')) throw error
  }
}

/**
 * Redis repeats the arguments of a command that it does not know, cut at 128 bytes: AUTH renamed by an administrator
 * would print the password, or its first half, which no search for the whole finds. So everything after the name goes.
 */
function refused(error: ReplyError, options: ResolvedOptions): HandshakeError {
  const { password } = options
  let reply = error.reply.replace(/,? with args beginning with.*$/is, '')
  if (password !== undefined && password !== '') reply = reply.replaceAll(password, '***')
  return new HandshakeError(reply, `Redis at ${options.host}:${options.port} refused the connection: ${reply}`)
}

/** Whether the handshake was refused for a reason that stays until somebody changes the server or the options. */
export function isLasting(error: Error | undefined): error is HandshakeError {
  if (!(error instanceof HandshakeError)) return false
  return !/^(LOADING|MASTERDOWN|BUSY|TRYAGAIN)$/.test(error.kind) && !/max number of clients/i.test(error.reply)
}
