/** The temporary folder of a testbed, and the guardian that cleans up even if this process is killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { TestbedError } from './error.ts'
import type { ProcessEntry } from './proc.ts'

const FOLDER = 'holdfast-testbed-'

/**
 * Reads `pid <pid>:<start>` lines until its input ends: because its parent closed it, exited, or was killed with -9.
 * Then it stops those processes that still are the recorded ones (TERM, after two seconds KILL, children included) and
 * removes the folder. Arguments: $1 the folder. A shell, because it costs 1 MB where a second Node costs 40.
 */
const GUARDIAN = `
dir=$1
list=
trap '' HUP INT TERM
while read -r verb what; do
  [ "$verb" = pid ] && list="$list $what"
done
# Sets state, parent and start; the name in parentheses may hold spaces, so the fields are counted from the last one.
look() {
  { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 1
  set -- \${stat##*) }
  state=$1 parent=$2 start=\${20}
  [ "$state" != Z ]
}
ours() { look "\${1%%:*}" && [ "$start" = "\${1##*:}" ]; }
# The root is stopped first, so that it starts no more children while they are looked for.
end() {
  local entry
  kill -STOP "$1" 2>/dev/null
  for entry in /proc/[0-9]*; do
    look "\${entry#/proc/}" && [ "$parent" = "$1" ] && end "\${entry#/proc/}"
  done
  kill -KILL "$1" 2>/dev/null
}
for each in $list; do
  ours "$each" && { kill -TERM "\${each%%:*}"; kill -CONT "\${each%%:*}"; }
done
tries=20
while [ $tries -gt 0 ]; do
  alive=
  for each in $list; do ours "$each" && alive=1; done
  [ -z "$alive" ] && break
  sleep 0.1
  tries=$((tries - 1))
done
for each in $list; do ours "$each" && end "\${each%%:*}"; done
tries=20
while [ -e "$dir" ] && [ $tries -gt 0 ]; do
  # Small file systems of servers: what is mounted can't be removed.
  while read -r what at how; do
    case $at in "$dir"/*) umount -l "$at" ;; esac
  done < /proc/mounts
  rm -rf -- "$dir"
  [ -e "$dir" ] && sleep 0.1
  tries=$((tries - 1))
done 2>/dev/null
`

export class Janitor {
  /** The folder of everything that this testbed makes. */
  readonly dir: string
  readonly #guardian: ChildProcess
  readonly #input: Socket

  private constructor(dir: string, guardian: ChildProcess) {
    this.dir = dir
    this.#guardian = guardian
    this.#input = guardian.stdin as Socket
    // Neither keeps this process alive: its end is just what the guardian waits for.
    guardian.unref()
    this.#input.unref()
    // EPIPE, if somebody killed the guardian; `record` reports it where it matters.
    this.#input.on('error', () => undefined)
  }

  /** Makes the folder and starts its guardian. */
  static async open(): Promise<Janitor> {
    if (process.platform !== 'linux') {
      throw new TestbedError(`the testbed reads /proc and so needs Linux; this is ${process.platform}`)
    }
    const dir = await mkdtemp(join(tmpdir(), FOLDER))
    // Servers that refuse root run as another user and must get through to their own folders in here, which they can't
    // list.
    await chmod(dir, 0o711)
    const guardian = spawn('/bin/sh', ['-c', GUARDIAN, 'holdfast-guardian', dir], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    await once(guardian, 'spawn')
    return new Janitor(dir, guardian)
  }

  /** Resolves once the guardian has the process on its list. */
  record(entry: ProcessEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#input.write(`pid ${entry.pid}:${entry.start}\n`, (error) => {
        if (error) reject(new TestbedError(`the guardian of ${basename(this.dir)} is gone`, { cause: error }))
        else resolve()
      })
    })
  }

  /** Removes the folder and ends the guardian, after everything has been stopped. */
  async close(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10 })
    if (this.#guardian.exitCode !== null || this.#guardian.signalCode !== null) return
    this.#guardian.ref()
    const exited = once(this.#guardian, 'exit')
    this.#input.end()
    await exited
  }
}
