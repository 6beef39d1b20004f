#!/usr/bin/env node
/** The command line `holdfast-lab`: proof for those who want it. */
import { readFileSync } from 'node:fs'
import { dispatch } from 'holdfast/internal'

const HELP = `holdfast-lab: the laboratory of Holdfast

Usage: holdfast-lab COMMAND …

  torture --spawn KIND     puts locks through harsh conditions, and judges what came of it
  lab [NAME]               shows on real servers how well-known locks break, and what Holdfast does instead
  help [COMMAND]           explains a command; so does COMMAND --help
  --version                says which version this is

Where holdfast is installed beside it, holdfast torture and holdfast lab are the same commands.`

function version(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

const commands = { torture: () => import('./torture.ts'), lab: () => import('./lab.ts') }

process.exit(await dispatch({ name: 'holdfast-lab', help: HELP, version, commands }, process.argv.slice(2)))
