/** Installs Debian packages, without letting them start services. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { isErrno } from './errno.ts'
import { TestbedError } from './error.ts'

/**
 * Arguments: the packages. Runs under flock, so that two processes neither run apt at once nor take each other's policy
 * for the machine's own. A package asks policy-rc.d before it starts its service; 101 forbids it. On every way out the
 * old policy is put back; if a crash of the machine left a copy behind, that copy is the old policy.
 */
const SCRIPT = `
policy=/usr/sbin/policy-rc.d
before=$policy.before-holdfast
absent=$policy.absent-before-holdfast
restore() {
  if [ -e "$before" ]; then mv -f "$before" "$policy"
  elif [ -e "$absent" ]; then rm -f "$policy" "$absent"
  fi
}
trap restore EXIT
trap 'exit 1' HUP INT TERM
restore
if [ -e "$policy" ]; then cp -p "$policy" "$before"; else : > "$absent"; fi
printf '#!/bin/sh\\nexit 101\\n' > "$policy.new" && chmod 755 "$policy.new" && mv -f "$policy.new" "$policy" || exit 1
if [ -n "$HOLDFAST_APT_UPDATE" ]; then
  apt-get -o DPkg::Lock::Timeout=600 update || exit 1
fi
apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@"
`

/** In a folder that only root can write to, so that nobody else can put a link there. */
const LOCK = '/run/holdfast-apt.lock'

/** Installs these packages. Needs root and apt; otherwise the error says what to install by hand. */
export async function installPackages(packages: readonly string[]): Promise<void> {
  const byHand = `install by hand: apt-get install --no-install-recommends ${packages.join(' ')}`
  if (process.getuid?.() !== 0) throw new TestbedError(`only root can install packages; ${byHand}`)
  // Detached: Ctrl-C in a terminal goes to the whole foreground group and would end dpkg half-way. It finishes by
  // itself.
  const child = spawn('flock', [LOCK, 'sh', '-c', SCRIPT, 'holdfast-install', ...packages], {
    cwd: '/',
    detached: true,
    env: {
      PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`,
      DEBIAN_FRONTEND: 'noninteractive',
      LC_ALL: 'C',
      HOLDFAST_APT_UPDATE: (await listsAreEmpty()) ? 'yes' : '',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const hear = (bytes: Buffer): void => {
    said = (said + bytes.toString()).slice(-4_000)
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = await closed(child, byHand)
  if (code === 0) return
  const end = said.trimEnd().split('\n').slice(-15).join('\n  ')
  throw new TestbedError(`apt-get failed (exit code ${code}); ${byHand}\n  ${end}`)
}

async function closed(child: ReturnType<typeof spawn>, byHand: string): Promise<number | null> {
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return code
  } catch (error) {
    throw new TestbedError(`flock and apt-get, which are needed to install packages, could not be run; ${byHand}`, {
      cause: error,
    })
  }
}

async function listsAreEmpty(): Promise<boolean> {
  try {
    const names = await readdir('/var/lib/apt/lists')
    return !names.some((name) => name.includes('_Packages'))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true
    throw error
  }
}
