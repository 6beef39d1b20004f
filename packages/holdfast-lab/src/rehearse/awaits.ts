/**
 * Every `await` of the function, found without a change of its code: V8 tells of each promise that is made, and of each
 * continuation just before it runs. A promise that is made while a line of the user's own code is the innermost one
 * belongs to an `await` (or a `then`) of that line.
 */
import { promiseHooks } from 'node:v8'
import { type Actor, currentActor } from './actor.ts'

/** Where something stands in the user's code; written out only for people. */
export type Site = () => string

/** The library, this package, Node itself: no code of the user's. */
const OURS =
  /^node:|[\\/]node_modules[\\/]holdfast(-lab)?[\\/]|[\\/]packages[\\/]holdfast(-lab)?[\\/](src|dist|build)[\\/]/
const FRAMES = 12

/** Calls `onAwait` whenever code of an actor is about to go on after an `await`. Returns how to stop. */
export function watchAwaits(onAwait: (actor: Actor, site: Site) => void): () => void {
  const made = new WeakMap<Promise<unknown>, { readonly actor: Actor; readonly site: Site }>()
  // What is called here may make promises itself.
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

/** The innermost line of the user's code that led to the call of `above`. Written out when it is asked for. */
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
