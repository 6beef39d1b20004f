/**
 * Counts the files of ours that one acquire() and release() of a free mutex visits, and lists them in the order of
 * their first call: on memory those above the store, on Redis (a server of the testbed, by URL) all of them. Needs a
 * build, and counts the files as they are before they are bundled.
 * Exits with 1 when a bar is passed.
 */
import { Session } from 'node:inspector/promises'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const BARS = { 'memory, above the store': 10, 'redis, end to end': 20 }
const BUILD = new URL('../packages/holdfast/build/', import.meta.url)
const WARM_UPS = 50

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await session.post('Debugger.enable')

const { holdfast } = await import(new URL('src/index.js', BUILD).href)
const { testbed } = await import('../packages/holdfast-lab/dist/src/testbed/testbed.js')

/** Our functions that were called since the last call of this one. */
async function called() {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(BUILD.href))
    .flatMap(({ scriptId, url, functions }) =>
      functions
        .filter(
          ({ ranges, functionName }) => ranges[0].count > 0 && !(functionName === '' && ranges[0].startOffset === 0),
        )
        .map(({ ranges }) => ({ scriptId, url, offset: ranges[0].startOffset })),
    )
}

/** The files that one pair visits, in the order of their first call. */
async function visited(url) {
  const hf = await holdfast(url)
  const lock = hf.mutex('hops')
  const pair = async () => (await lock.acquire()).release()
  for (let i = 0; i < WARM_UPS; i++) await pair()
  await called()
  await pair()
  const functions = await called()
  const order = new Set()
  globalThis.hop = (file) => order.add(file)
  // V8 evaluates the condition at every call. It is never true, so nothing stops, but the order gets known.
  const marks = []
  for (const { scriptId, url, offset } of functions) {
    const before = readFileSync(fileURLToPath(url), 'utf8')
      .slice(0, offset + 1)
      .split('\n')
    const location = { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1).length }
    const condition = `void globalThis.hop(${JSON.stringify(url)})`
    marks.push(await session.post('Debugger.setBreakpoint', { location, condition }).catch(() => null))
  }
  await pair()
  for (const mark of marks) {
    if (mark !== null) await session.post('Debugger.removeBreakpoint', { breakpointId: mark.breakpointId })
  }
  await hf.close()
  const files = new Set([...order, ...functions.map((one) => one.url)])
  return [...files].map((file) => relative(fileURLToPath(BUILD), fileURLToPath(file)).replace(/\.js$/, '.ts'))
}

const bed = await testbed()
try {
  const redis = await bed.redis()
  const found = {
    'memory, above the store': (await visited('memory:')).filter((file) => !/^src\/(stores|clients)\//.test(file)),
    'redis, end to end': await visited(redis.url),
  }
  for (const [way, files] of Object.entries(found)) {
    console.log(`${way}: ${files.length} files, at most ${BARS[way]}`)
    for (const file of files) console.log(`  ${file}`)
    if (files.length > BARS[way]) process.exitCode = 1
  }
} finally {
  await bed.close()
  session.disconnect()
}
