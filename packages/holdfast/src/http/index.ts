/**
 * `holdfast/http`: ties an instance to the life of a Fastify app or a Node server, and serves a repeated request once.
 */
import { checkFunction, shown } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import type { Holdfast } from '../holdfast.ts'

/** The part of a Fastify app that we call. */
export interface FastifyLike {
  decorate(name: string, value: unknown): unknown
  addHook(name: 'onClose', hook: () => Promise<void>): unknown
}

/**
 * A plugin: `app.register(fastifyHoldfast, { holdfast: hf })` adds `app.holdfast`, and closes the instance with the
 * app.
 */
export async function fastifyHoldfast(app: FastifyLike, { holdfast }: { readonly holdfast: Holdfast }): Promise<void> {
  checkInstance('fastifyHoldfast', holdfast)
  app.decorate('holdfast', holdfast)
  app.addHook('onClose', () => holdfast.close())
}

// Fastify hides what a plugin adds from the rest of the app, unless the plugin has this symbol.
Object.assign(fastifyHoldfast, { [Symbol.for('skip-override')]: true })

/** The part of a server that we call: what `app.listen()` of Express or `http.createServer()` returns. */
export interface ServerLike {
  close(done: (error?: Error) => void): unknown
}

/**
 * Closes the server first and its locks afterwards, so that no request runs without them. Resolves when both have
 * closed. For SIGTERM: `process.once('SIGTERM', () => void closeWithServer(server, hf))`.
 */
export async function closeWithServer(server: ServerLike, holdfast: Holdfast): Promise<void> {
  checkInstance('closeWithServer', holdfast)
  checkFunction('close of the server', server?.close)
  try {
    await new Promise<void>((resolve, reject) => {
      server.close((error) => (error === undefined || error === null ? resolve() : reject(error)))
    })
  } finally {
    await holdfast.close()
  }
}

function checkInstance(what: string, holdfast: unknown): void {
  if (typeof (holdfast as Holdfast | undefined)?.mutex === 'function') return
  throw new UsageError(`${what} needs an instance that holdfast() gave, given ${shown(holdfast)}`)
}
