/** Commands of packages beside this one (holdfast-lab, holdfast-console), loaded if the package is installed. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { UsageError } from '../contract/errors.ts'
import type { Command } from './command.ts'

export async function commandOf(name: 'holdfast-lab' | 'holdfast-console', command: string): Promise<Command> {
  // Look beside this package first. A holdfast that is installed globally also looks in the project where it is called.
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json')).href]) {
    const file = resolved(from, `${name}/${command}`)
    if (file !== null) return (await import(pathToFileURL(file).href)) as Command
  }
  throw new UsageError(
    `holdfast ${command} is a command of the package ${name}, which is not installed: npm install --save-dev ${name}`,
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
