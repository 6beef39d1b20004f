/**
 * Loads a client package that the user has installed (an optional peer). The package is required at run time and never
 * imported: a bundler would warn about packages that are not installed, and Jest can't load an import from CommonJS.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MissingClientError } from '../../contract/errors.ts'

/**
 * The package as `require` returns it.
 * @param needed what to say if it is not installed; the command that installs it is added.
 */
export function loadPeer(name: string, needed = `this store needs the package ${name}`): unknown {
  const found = findModule(name)
  if (found === null) throw new MissingClientError(`${needed}: npm install ${name}`)
  return createRequire(found)(found)
}

/**
 * The file that a module's name stands for, as seen from this file. If this file is part of a bundle that was moved: as
 * seen from the program that runs, or from the folder that it runs in. null: the module is not installed.
 */
export function findModule(name: string): string | null {
  // In a bundle that is an ES module, this file's own address is not known.
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
