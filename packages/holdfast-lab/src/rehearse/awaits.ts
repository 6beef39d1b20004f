/**
 * Finds every `await` of the function without changing its code: V8 reports each promise that is made, and each
 * continuation just before it runs. If a line of the user's own code is the innermost one while a promise is made, the
 * promise belongs to an `await` (or a `then`) of that line.
 */
import { promiseHooks } from 'node:v8'
import { type Actor, currentActor } from './actor.ts'

/** A position in the user's code; made into text only for people. */
export type Site = () => string

/** The library, this package, Node itself: no code of the user's. */
const OURS =
  /^node:|[\\/]node_modules[\\/]holdfast(-lab)?[\\/]|[\\/]packages[\\/]holdfast(-lab)?[\\/](src|dist|build)[\\/]/
const FRAMES = 12

/** Calls `onAwait` whenever code of an actor is about to continue after an `await`. Call the result to stop. */
export function watchAwaits(onAwait: (actor: Actor, site: Site) => void): () => void {
  const made = new WeakMap<Promise<unknown>, { readonly actor: Actor; readonly site: Site }>()
  // The code called here may make promises itself.
  let isBusy = false
  const init = (promise: Promise<unknown>): void => {
    if (isBusy) return
    isBusy = true
    const actor = currentActor()
    const site = actor === null ? null : innermost(init)
    if (actor !== null && site !== null) made.set(promise, { actor, site })
    isBusy = false
  }
  const before = (promise: Promise<unknown>): void => {
    const found = made.get(promise)
    if (found === undefined || isBusy) return
    isBusy = true
    onAwait(found.actor, found.site)
    isBusy = false
  }
  return promiseHooks.createHook({ init, before }) as unknown as () => void
}

/** The line of code that called `above`, if it is the user's; null: it is ours. */
function innermost(above: (promise: Promise<unknown>) => void): Site | null {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.stackTraceLimit = FRAMES
  const site = callSite(above)
  Error.prepareStackTrace = (_error, frames) => frames.map((frame) => frame.getFileName() ?? '')
  const raw: { readonly stack?: readonly string[] } = {}
  Error.captureStackTrace(raw, above)
  const [file] = (raw.stack ?? []).filter((name) => name !== '' && !name.startsWith('node:'))
  Error.prepareStackTrace = prepareStackTrace
  Error.stackTraceLimit = stackTraceLimit
  return file === undefined || OURS.test(file) ? null : site
}

/** The innermost line of the user's code that led to the call of `above`. Made into text when it is read. */
export function callSite(above: (...args: never[]) => unknown): Site {
  const here: { readonly stack?: string } = {}
  Error.captureStackTrace(here, above)
  return () => lineOf(here.stack ?? '')
}

function lineOf(stack: string): string {
  for (const line of stack.split('\n').slice(1)) {
    const place = /\(?((?:file:\/\/)?[^()\s]+:\d+:\d+)\)?$/.exec(line.trim())?.[1]?.replace('file://', '')
    if (place !== undefined && !OURS.test(place)) return relative(place)
  }
  return 'unknown'
}

function relative(place: string): string {
  const here = `${process.cwd()}/`
  return place.startsWith(here) ? place.slice(here.length) : place
}
