/**
 * Makes the code of the package short, and leaves what people read in a stack trace: the names of classes, functions
 * and private methods, and lines of at most 120 columns. The names of local variables and of private fields, and white
 * space go: together that is more than a quarter of the package.
 */
import { minify } from 'terser'

const PRIVATE = '$private$'

/**
 * @param {string} code
 * @param {object} tree what `code` says, as ESTree
 */
export async function shortened(code, tree) {
  // Terser would rename private methods too, so they look like public ones while it works.
  const hidden = withShortFields(code, tree)
  const functions = [...hidden.matchAll(/\b(?:const|let) (\w+) = (?:async )?(?:\([^()]*\)|\w+) =>/g)].map((m) => m[1])
  const { code: short } = await minify(hidden, {
    ecma: 2022,
    compress: { keep_fnames: true, keep_classnames: true, inline: false, reduce_funcs: false, sequences: false },
    mangle: { keep_fnames: true, keep_classnames: true, reserved: functions, toplevel: true },
    format: { semicolons: false, max_line_len: 120 },
  })
  return /** @type {string} */ (short).replaceAll(PRIVATE, '#')
}

/**
 * A private field that holds data gets a short name: no stack trace shows it. What can be called keeps its name.
 * @param {string} code
 * @param {object} tree
 */
function withShortFields(code, tree) {
  const { uses, callable } = privateNames(tree)
  const fields = new Set(uses.map(({ name }) => name).filter((name) => !callable.has(name)))
  const free = shortNames(callable)
  const short = new Map([...fields].map((name) => [name, free.next().value]))
  let text = ''
  let from = 0
  for (const { name, start, end } of uses) {
    text += `${code.slice(from, start)}${PRIVATE}${short.get(name) ?? name}`
    from = end
  }
  return text + code.slice(from)
}

/** @param {object} tree */
function privateNames(tree) {
  const uses = []
  const callable = new Set()
  walk(tree, (node) => {
    if (node.type === 'PrivateIdentifier') uses.push(node)
    if (node.key?.type !== 'PrivateIdentifier') return
    if (node.type === 'MethodDefinition' || /Function/.test(node.value?.type)) callable.add(node.key.name)
  })
  return { uses: uses.toSorted((a, b) => a.start - b.start), callable }
}

/**
 * a, b, … z, aa, ab, …
 * @param {ReadonlySet<string>} taken
 */
function* shortNames(taken) {
  for (let i = 0; ; i++) {
    const first = i < 26 ? '' : letter(Math.floor(i / 26) - 1)
    const name = `${first}${letter(i % 26)}`
    if (!taken.has(name)) yield name
  }
}

/** @param {number} i */
function letter(i) {
  return String.fromCharCode('a'.charCodeAt(0) + i)
}

/**
 * @param {unknown} node
 * @param {(node: object) => void} visit
 */
function walk(node, visit) {
  if (node === null || typeof node !== 'object') return
  if (typeof node.type === 'string') visit(node)
  for (const part of Object.values(node)) walk(part, visit)
}
