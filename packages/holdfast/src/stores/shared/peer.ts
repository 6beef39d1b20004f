/**
 * Loads a client package that its user has installed (an optional peer). It is asked for at run time and never by an
 * import: a bundler would warn of those that are not installed, and Jest can't load one from CommonJS.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MissingClientError } from '../../contract/errors.ts'

/**
 * The package as `require` gives it.
 * @param needed what to say if it is not installed; how to install it is added.
 */
export function loadPeer(name: string, needed = `this store needs the package ${name}`): unknown {
  const found = findModule(name)
  if (found === null) throw new MissingClientError(`${needed}: npm install ${name}`)
  return createRequire(found)(found)
}

/**
 * The file that a module's name stands for: seen from this file, or, when this file is part of a bundle that was moved,
 * from the program that runs, or from the folder that it runs in. Null: it is not installed.
 */
export function findModule(name: string): string | null {
  // Where the bundle is an ES module, this file's own address is not known.
  const places = [import.meta.url, process.argv[1] ?? '', join(process.cwd(), 'package.json')]
  for (const place of places) {
    if (place === '') continue
    try {
      return createRequire(place.startsWith('file:') ? place : pathToFileURL(place)).resolve(name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return null
}
