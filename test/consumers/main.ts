/**
 * `npm run consumers [-- next nest]`: projects of other people, made of the packed tarball with pinned packages, each
 * with and without the optional peers. A warning counts as a failure. What it needs is built first: node
 * scripts/build.js.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'
import { makeProject, pack } from './project.ts'

interface Listed {
  readonly folder: string
  /** A program of node_modules/.bin; default: node check.mjs. */
  readonly check?: readonly string[]
  readonly bothWays?: boolean
  readonly dependencies: Readonly<Record<string, string>>
}

const { peers, projects } = JSON.parse(await readFile(new URL('projects.json', import.meta.url), 'utf8')) as {
  readonly peers: Readonly<Record<string, string>>
  readonly projects: Readonly<Record<string, Listed>>
}
const wanted = process.argv.slice(2)
const work = await mkdtemp(join(tmpdir(), 'holdfast-tarball-'))
const tarball = await pack(work)
const bed = await testbed()
process.env['HOLDFAST_TEST_REDIS'] = (await bed.redis()).url
const rows: string[] = []

for (const [name, { folder, check, bothWays = false, dependencies }] of Object.entries(projects)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  for (const isWith of bothWays ? [false, true] : [false]) {
    const project = await makeProject(tarball, {
      from: folder,
      dependencies: { ...dependencies, ...(isWith ? peers : {}) },
    })
    const [file, ...args] =
      check === undefined ? ['node', 'check.mjs'] : [`node_modules/.bin/${check[0]}`, ...check.slice(1)]
    const { code, said } = await project.run(file as string, ...args)
    const versions = Object.entries(dependencies).map(([dependency, version]) => `${dependency} ${version}`)
    const what = bothWays ? `${name}, ${isWith ? 'with' : 'without'} the peers` : name
    rows.push(`${code === 0 ? '✓' : '✗'} ${what} (${versions.join(', ')})`)
    say(
      `${rows.at(-1)}\n${said
        .trim()
        .split('\n')
        .slice(code === 0 ? -4 : -60)
        .join('\n')}`,
    )
    if (code !== 0) process.exitCode = 1
    await project.remove()
  }
}
say(`\nNode ${process.versions.node}, ${new Date(Date.now()).toISOString().slice(0, 10)}\n${rows.join('\n')}`)
await bed.close()
await rm(work, { recursive: true, force: true })

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
