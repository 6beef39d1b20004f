/**
 * `holdfast/http`: an instance that lives as long as a Fastify app or a Node server, and requests that are served once.
 */
import { checkFunction, shown } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import type { Holdfast } from '../holdfast.ts'

/** What is called of a Fastify app. */
export interface FastifyLike {
  decorate(name: string, value: unknown): unknown
  addHook(name: 'onClose', hook: () => Promise<void>): unknown
}

/** A plugin: `app.register(fastifyHoldfast, { holdfast: hf })` gives `app.holdfast`, closed with the app. */
export async function fastifyHoldfast(app: FastifyLike, { holdfast }: { readonly holdfast: Holdfast }): Promise<void> {
  checkInstance('fastifyHoldfast', holdfast)
  app.decorate('holdfast', holdfast)
  app.addHook('onClose', () => holdfast.close())
}

// Fastify keeps what a plugin adds to itself from the rest of the app, unless the plugin says otherwise.
Object.assign(fastifyHoldfast, { [Symbol.for('skip-override')]: true })

/** What is called of a server, as `app.listen()` of Express or `http.createServer()` gives. */
export interface ServerLike {
  close(done: (error?: Error) => void): unknown
}

/**
 * Ends a server, then its locks: no request is served without them. Resolves when both have closed; for SIGTERM:
 * `process.once('SIGTERM', () => void closeWithServer(server, hf))`.
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
