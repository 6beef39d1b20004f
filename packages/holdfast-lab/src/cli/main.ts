#!/usr/bin/env node
/** The command line `holdfast-lab`: proof for those who want it. */
import { readFileSync } from 'node:fs'
import { type Commands, dispatch } from 'holdfast/internal'

const NOTES = `holdfast-lab COMMAND --help explains a command; -V tells the version.
Where holdfast is installed beside it, holdfast torture and holdfast lab are the same commands.`

function version(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}

const commands: Commands = {
  torture: {
    usage: '--spawn KIND',
    says: 'puts locks through harsh conditions, and judges',
    load: () => import('./torture.ts'),
  },
  rehearse: {
    usage: 'FILE [NAME]',
    says: 'pauses your own critical section at every await',
    load: () => import('./rehearse.ts'),
  },
  lab: { usage: '[NAME]', says: 'shows how well-known locks break', load: () => import('./lab.ts') },
}

const line = { name: 'holdfast-lab', says: 'the laboratory of Holdfast', notes: NOTES, version, commands }
process.exit(await dispatch(line, process.argv.slice(2)))
