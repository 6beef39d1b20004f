#!/usr/bin/env node
/** The command line `holdfast-console`. */
import { readFileSync } from 'node:fs'
import { dispatch } from 'holdfast/internal'

function version(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

const args = process.argv.slice(2)
// There is one command only, so nobody has to type it.
const typed = args[0] === '--version' || args[0] === '-V' ? args : ['ui', ...args]
const says = 'shows the locks on a live page'
const commands = { ui: { usage: '', says, load: () => import('./ui.ts') } }

process.exit(await dispatch({ name: 'holdfast-console', says, notes: '', version, commands }, typed))
