/**
 * The conformance suite over the built package, on the runtime that runs this file: Node, Bun or Deno.
 * Arguments: the store, its config as JSON, and maybe a pattern that picks cases. Its last line is the outcome, as
 * JSON.
 */
import { conformance } from '../../packages/holdfast/dist/conformance.js'

/** Most of a case's time is spent waiting. */
const AT_ONCE = 4

const [store = '', config = 'null', pattern = ''] = process.argv.slice(2)
const module = new URL(`../../packages/holdfast/dist/${store}.js`, import.meta.url)
const under = { module, config: JSON.parse(config) }

/** Why the store can't be used here; null: it can. */
async function refusal() {
  const { default: make } = await import(module.href)
  try {
    const driver = await make(under.config)
    await driver.close()
    return null
  } catch (error) {
    if (error.code === 'HF_UNSUPPORTED') return error.message
    throw error
  }
}

async function judge({ law, name, timeoutMs, run }) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${timeoutMs} ms`)), timeoutMs)
  })
  try {
    await Promise.race([run(), late])
    return null
  } catch (error) {
    console.error(`✗ ${law}: ${name}\n`, error)
    return `${law}: ${name}`
  } finally {
    clearTimeout(timer)
  }
}

async function main() {
  const refused = await refusal()
  if (refused !== null) return { refused, cases: 0, failed: [] }
  const cases = conformance(under).filter(({ law, name }) => new RegExp(pattern).test(`${law}: ${name}`))
  const left = [...cases]
  const failed = []
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) failed.push(await judge(one))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { refused: null, cases: cases.length, failed: failed.filter((name) => name !== null) }
}

const outcome = await main()
// Wait until the pipe has taken everything: the end of the process would cut the rest off.
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(outcome.failed.length === 0 ? 0 : 1))
