#!/usr/bin/env node
/** The command line `holdfast-console`. */
import { readFileSync } from 'node:fs'
import { dispatch } from 'holdfast/internal'
import { help } from './ui.ts'

function version(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

const args = process.argv.slice(2)
// It has one command only, which nobody has to type.
const typed = args[0] === '--version' ? args : ['ui', ...args]

process.exit(
  await dispatch({ name: 'holdfast-console', help, version, commands: { ui: () => import('./ui.ts') } }, typed),
)
