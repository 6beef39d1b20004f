/**
 * Programs of another suite of Debian, with all that they need, unpacked into the cache: nothing is installed, no
 * script of a package is run, and root is not needed. A program is started by the loader of its own suite, so that it
 * finds its own libc.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, link, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { runProgram } from './run-program.js'

/** Where this machine gets its own release from: other suites stand beside it. */
async function mirror() {
  const release = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
  const said = await runProgram('apt-get', ['indextargets', '--format', '$(SITE) $(CODENAME) $(COMPONENT)'])
  const own = said.split('\n').find((line) => line.endsWith(` ${release} main`))
  if (own === undefined) throw new Error(`apt of this machine has no source of ${release} main to find other suites by`)
  return own.split(' ')[0]
}

/** apt with a state of its own, in which nothing is installed. @param {string} folder */
function aptOptions(folder) {
  const settings = {
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::SourceList': join(folder, 'sources.list'),
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::Etc::Preferences': '/dev/null',
    'Dir::Etc::PreferencesParts': '/dev/null',
    'APT::Sandbox::User': 'root',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
}

/**
 * A folder that has the packages and all that they depend on, as a root would.
 *
 * @param {import('./cache.js').Cache} cache
 * @param {{ readonly suite: string, readonly packages: readonly string[], readonly programs?: readonly string[] }}
 * wanted `programs`: paths in that root that will be started
 */
export function fromDebian(cache, { suite, packages, programs = [] }) {
  return cache.get(`${suite}-${packages.join('-')}`, async (root) => {
    const apt = join(root, 'apt')
    await Promise.all(
      ['state/lists/partial', 'cache/archives/partial'].map((at) => mkdir(join(apt, at), { recursive: true })),
    )
    await writeFile(join(apt, 'status'), '')
    await writeFile(join(apt, 'sources.list'), `deb ${await mirror()} ${suite} main\n`)
    const options = aptOptions(apt)
    await runProgram('apt-get', [...options, 'update'])
    await runProgram('apt-get', [
      ...options,
      '--download-only',
      '--no-install-recommends',
      '-y',
      'install',
      ...packages,
    ])
    const archives = join(apt, 'cache', 'archives')
    for (const name of await readdir(archives)) {
      if (name.endsWith('.deb')) await runProgram('dpkg-deb', ['-x', join(archives, name), root])
    }
    await rm(apt, { recursive: true })
    for (const program of programs) await startByOwnLoader(root, program)
    await runProgram('chmod', ['-R', 'a+rX', root])
  })
}

/**
 * Puts a small script where the program was. The name is handed on: Redis is one program under several names, and
 * looks. By then the folder has not got its last name, so the script finds everything from where it stands.
 *
 * @param {string} root
 * @param {string} program
 */
async function startByOwnLoader(root, program) {
  const { loader, libraries } = loaderIn(root)
  const path = join(root, program)
  const name = basename(program)
  const target = await realpath(path)
  // The loader of an older suite can't be told a name: so the program gets this one, in a folder of its own.
  const folder = join(dirname(path), 'by-loader')
  await mkdir(folder, { recursive: true })
  const real = join(folder, name)
  await link(target, real)
  await rm(path)
  const up = relative(dirname(program), '.')
  const script = `#!/bin/sh
root=$(cd "$(dirname "$(readlink -f "$0")")/${up}" && pwd)
exec "$root/${loader}" --library-path "${libraries.map((at) => `$root/${at}`).join(':')}" \\
  "$root/${relative(root, real)}" "$@"
`
  await writeFile(path, script)
  await chmod(path, 0o755)
}

/**
 * In older suites the libc lies beside usr, not in it.
 *
 * @param {string} root
 */
function loaderIn(root) {
  const [triplet] = readdirSync(join(root, 'usr/lib')).filter((name) => /^\w+-linux-gnu\w*$/.test(name))
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`].filter((at) => existsSync(join(root, at)))
  const files = libraries.flatMap((at) => readdirSync(join(root, at)).map((name) => `${at}/${name}`))
  const loader = files.find((file) => /\/ld-.*\.so\.\d+$/.test(file))
  if (loader === undefined) throw new Error(`there is no loader in ${root}`)
  return { loader, libraries }
}
