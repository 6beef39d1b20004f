/** A project of somebody who has installed the packed holdfast, in a folder of its own. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROJECTS = fileURLToPath(new URL('projects', import.meta.url))
const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']

export interface Ran {
  readonly code: number
  readonly said: string
}

export interface Project {
  readonly folder: string
  /** Runs a program in it; never rejects. */
  run(file: string, ...args: readonly string[]): Promise<Ran>
  remove(): Promise<void>
}

/** Packs what is built in packages/<name>, and answers where the tarball lies. */
export async function pack(into: string, of = 'holdfast'): Promise<string> {
  await promisify(execFile)('npm', ['pack', '--pack-destination', into, '--loglevel=error'], {
    cwd: join(ROOT, 'packages', of),
  })
  const name = (await readdir(into)).find((file) => new RegExp(`^${of}-[0-9][^/]*\\.tgz$`).test(file))
  if (name === undefined) throw new Error('npm pack has made nothing: build first, node scripts/build.js')
  return join(into, name)
}

/** Makes a project with the files of projects/<name>, if any, and installs these packages beside the tarball. */
export async function makeProject(
  tarball: string,
  { from, dependencies = {} }: { readonly from?: string; readonly dependencies?: Readonly<Record<string, string>> },
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-consumer-'))
  if (from !== undefined) await cp(join(PROJECTS, from), folder, { recursive: true })
  await cp(join(PROJECTS, 'app.mjs'), join(folder, 'app.mjs'))
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'consumer', private: true, dependencies: { ...dependencies, holdfast: `file:${tarball}` } }),
  )
  const project: Project = {
    folder,
    run: (file, ...args) => run(folder, file, args),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
  const { code, said } = await project.run('npm', 'install', ...QUIET)
  if (code !== 0) throw new Error(`npm install has failed: ${said}`)
  return project
}

function run(cwd: string, file: string, args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(file, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), said: `${stdout}${stderr}` })
    })
  })
}
