/** `holdfast torture` and `holdfast lab` are commands of the package holdfast-lab: loaded if it is installed. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../contract/errors.ts'
import type { Command } from './command.ts'

export async function laboratory(command: 'torture' | 'lab'): Promise<Command> {
  // Beside this package; else, for a holdfast that is installed globally, in the project where it is called.
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href]) {
    const file = resolved(from, `holdfast-lab/${command}`)
    if (file !== null) return (await import(pathToFileURL(file).href)) as Command
  }
  throw new UsageError(
    `holdfast ${command} is a command of the package holdfast-lab, which is not installed: npm install ` +
      `--save-dev holdfast-lab`,
  )
}

function resolved(from: string, name: string): string | null {
  try {
    return createRequire(from).resolve(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
