/** Imports what the bench must not import statically: packages that may be missing, and the built library. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const BUILT = new URL('../packages/holdfast/build/src/', import.meta.url)
const require = createRequire(import.meta.url)

/**
 * A package of bench/package.json. It is imported by a name in a variable, so that the type check needs none of them.
 *
 * @template T
 * @param {string} name
 * @returns {Promise<T>}
 */
export function load(name) {
  return import(name)
}

/** @param {string} name */
export function isInstalled(name) {
  try {
    require.resolve(name)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND') return false
    throw error
  }
}

/** Which packages of bench/package.json are installed; their versions are exact. */
export function versions() {
  /** @type {{ dependencies: Record<string, string> }} */
  const { dependencies } = require('./package.json')
  return Object.fromEntries(Object.entries(dependencies).filter(([name]) => isInstalled(name)))
}

/**
 * A module of the built library, as users get it.
 *
 * @template T
 * @param {string} path below packages/holdfast/build/src
 * @returns {Promise<T>}
 */
export function loadBuilt(path) {
  return import(new URL(path, BUILT).href)
}

/** @param {string} path below packages/holdfast/build/src */
export function isBuilt(path) {
  return existsSync(fileURLToPath(new URL(path, BUILT)))
}
