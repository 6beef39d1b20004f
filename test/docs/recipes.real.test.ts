/** The recipes of docs/how-to do what they say: their lines, units and manifests are taken from the pages and run. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { requireServers, requireTools } from '../../packages/holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../packages/holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-recipes-'))
const log = join(folder, 'log')
let bed: Testbed
let redis: Server

/** A program of a recipe: says in the log that it ran, and goes on until TERM if it is one that does. */
function program(name: string, isService: boolean): void {
  const file = join(folder, 'app', `${name}.sh`)
  const began = `echo ${name} began >> ${log}`
  // It listens before it says that it has begun.
  const script = isService
    ? `trap 'echo ${name} told >> ${log}; exit 143' TERM; ${began}; while :; do sleep 0.05; done`
    : `${began}; sleep 0.2; echo ${name} ended >> ${log}`
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
}

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['systemd'])
  bed = await testbed()
  redis = await bed.redis()
  for (const name of ['app', 'bin', 'units']) mkdirSync(join(folder, name))
  for (const name of ['report', 'sync', 'crawl', 'migrate', 'serve']) program(name, false)
  for (const name of ['import', 'scheduler']) program(name, true)
  writeFileSync(
    join(folder, 'bin/holdfast'),
    `#!/bin/sh\nexec ${process.execPath} ${ROOT}packages/holdfast/dist/cli.cjs "$@"\n`,
  )
  chmodSync(join(folder, 'bin/holdfast'), 0o755)
})
afterAll(async () => {
  await bed.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The blocks of a page in one language, with the places of this test instead of those of the reader. */
function blocks(page: string, language: string): string[] {
  const text = readFileSync(join(ROOT, 'docs/how-to', page), 'utf8')
  const found = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter((match) => match[1] === language)
  return found.map((match) =>
    (match[2] as string)
      .replaceAll('redis://locks:6379', redis.url)
      .replaceAll('/opt/app', join(folder, 'app'))
      .replaceAll('/usr/local/bin', join(folder, 'bin')),
  )
}

interface Ended {
  readonly code: number | null
  readonly text: string
}

const running = new Set<Program>()
afterEach(async () => {
  for (const program of running) program.terminate()
  await Promise.all([...running].map(({ ended }) => ended))
})

class Program {
  readonly #child
  readonly ended: Promise<Ended>

  constructor(file: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    // As a service manager has it: nothing of our own environment.
    // A group of its own: cron's shell may stay in front of the command, and would not pass a signal on.
    this.#child = spawn(file, [...args], {
      env: { ...env, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let text = ''
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream.on('data', (chunk) => (text += String(chunk)))
    running.add(this)
    this.ended = once(this.#child, 'close').then(([code]) => {
      running.delete(this)
      return { code: code as number | null, text }
    })
  }

  terminate(): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGTERM')
  }
}

const logged = (): string[] => readFileSync(log, 'utf8').split('\n').slice(0, -1)

async function until(what: () => boolean): Promise<void> {
  await expect.poll(what, { interval: 20 }).toBe(true)
}

function clear(): void {
  writeFileSync(log, '')
}

describe('cron.md', () => {
  /** Variables and commands, as cron reads them. */
  function crontab(text: string): { readonly env: Record<string, string>; readonly commands: string[] } {
    const rows = text.split('\n').filter((row) => row !== '')
    const variables = rows
      .filter((row) => /^\w+=/.test(row))
      .map((row) => row.split(/=(.*)/s).slice(0, 2) as [string, string])
    const commands = rows.filter((row) => !/^\w+=/.test(row)).map((row) => row.replace(/^(?:\S+\s+){5}/, ''))
    return { env: Object.fromEntries(variables), commands }
  }
  const run = (command: string, env: Record<string, string>): Program => new Program('/bin/sh', ['-c', command], env)

  test('jobs run once, although two machines have the line', async () => {
    const [first = ''] = blocks('cron.md', 'crontab')
    const { env, commands } = crontab(first)
    expect(commands).toHaveLength(2)
    clear()
    for (const command of commands) {
      const both = await Promise.all([run(command, env).ended, run(command, env).ended])
      expect(both).toEqual([
        { code: 0, text: '' },
        { code: 0, text: '' },
      ])
    }
    expect(logged()).toEqual(['report began', 'report ended', 'sync began', 'sync ended'])
  })

  test('a line that finds its lock held does nothing, without a failure; the other waits for its turn', async () => {
    const [, second = ''] = blocks('cron.md', 'crontab')
    const { env, commands } = crontab(second)
    const [skips = '', waits = ''] = commands
    clear()
    const holder = run(skips, env)
    await until(() => logged().includes('import began'))
    expect(await run(skips, env).ended).toEqual({ code: 0, text: '' })
    holder.terminate()
    await holder.ended
    expect(logged()).toEqual(['import began', 'import told'])
    clear()
    const both = await Promise.all([run(waits, env).ended, run(waits, env).ended])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(logged()).toEqual(['crawl began', 'crawl ended', 'crawl began', 'crawl ended'])
  })
})

describe('systemd.md', () => {
  interface Unit {
    readonly file: string
    readonly settings: Readonly<Record<string, string>>
  }

  function units(): Unit[] {
    return blocks('systemd.md', 'ini').map((text) => {
      const file = join(folder, 'units', (/^# \S*\/(\S+)$/m.exec(text) as RegExpExecArray)[1] as string)
      writeFileSync(file, text)
      const settings = [...text.matchAll(/^(\w+)=(.*)$/gm)].map((match) => [match[1], match[2]] as const)
      return { file, settings: Object.fromEntries(settings) as Record<string, string> }
    })
  }

  /** Started as systemd does: words in quotes are one, %H is the host, no shell. */
  function start({ settings }: Unit): Program {
    const words = [...(settings['ExecStart'] ?? '').matchAll(/'([^']*)'|(\S+)/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    )
    const [file = '', ...args] = words.map((word) => word.replaceAll('%H', hostname()))
    const [name = '', value = ''] = (settings['Environment'] ?? '').split(/=(.*)/s)
    return new Program(file, args, { [name]: value, PATH: '/usr/local/bin:/usr/bin:/bin' })
  }

  test('systemd finds nothing to complain of', () => {
    const files = units().map(({ file }) => file)
    expect(files).toHaveLength(4)
    // Throws with what systemd says when it finds something.
    const said = execFileSync('systemd-analyze', ['verify', '--man=no', ...files], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SYSTEMD_LOG_LEVEL: 'warning' },
    })
    expect(said).toBe('')
  })

  test('a service is stopped in order, and the next machine begins when the program has ended', async () => {
    const services = units().filter(({ settings }) => settings['KillMode'] === 'mixed')
    expect(services).toHaveLength(2)
    for (const unit of services) {
      clear()
      const first = start(unit)
      await until(() => logged().length === 1)
      const next = start(unit)
      first.terminate()
      const stopped = await first.ended
      expect(String(stopped.code)).toBe(unit.settings['SuccessExitStatus'])
      await until(() => logged().length === 3)
      const [began, told, again] = logged()
      expect([told, again]).toEqual([began?.replace('began', 'told'), began])
      next.terminate()
      await next.ended
    }
  })

  test('the job of the timer runs once', async () => {
    const job = units().find(({ settings }) => settings['Type'] === 'oneshot') as Unit
    clear()
    const both = [await start(job).ended, await start(job).ended]
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    // Its name is that of the job in cron.md, whose period is another zone's: it has run at most once in this one.
    expect(logged().filter((row) => row === 'report began').length).toBeLessThanOrEqual(1)
  })
})

describe('kubernetes.md', () => {
  interface Container {
    readonly command: string[]
    readonly args?: string[]
    readonly env?: { readonly name: string; readonly value?: string }[]
  }
  interface Pod {
    readonly initContainers?: Container[]
    readonly containers: Container[]
    readonly terminationGracePeriodSeconds?: number
  }
  interface Manifest {
    readonly kind: string
    readonly metadata: { readonly name: string }
    readonly spec: {
      readonly template?: { readonly spec: Pod }
      readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: Pod } } }
    }
  }

  function manifests(): { readonly name: string; readonly kind: string; readonly pod: Pod }[] {
    return blocks('kubernetes.md', 'yaml').flatMap((text) =>
      parseAllDocuments(text).map((document) => {
        expect(document.errors).toEqual([])
        const { kind, metadata, spec } = document.toJS() as Manifest
        return { name: metadata.name, kind, pod: (spec.template ?? spec.jobTemplate?.spec.template)?.spec as Pod }
      }),
    )
  }

  /** Command and arguments, without a shell, with the names of the environment filled in as the kubelet does. */
  function start({ command, args = [], env = [] }: Container, pod: string): Program {
    const own = Object.fromEntries(env.map(({ name, value }) => [name, value ?? pod]))
    const fill = (word: string): string => word.replace(/\$\((\w+)\)/g, (_, name: string) => own[name] ?? '')
    const [file = '', ...rest] = [...command, ...args].map(fill)
    return new Program(join(folder, 'bin', file), rest, { ...own, PATH: '/usr/bin:/bin' })
  }

  test('the init containers of all pods migrate, one at a time', async () => {
    const shop = manifests().find(({ name }) => name === 'shop')
    const container = shop?.pod.initContainers?.[0] as Container
    clear()
    const all = await Promise.all(['shop-1', 'shop-2', 'shop-3'].map((pod) => start(container, pod).ended))
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(logged()).toEqual(Array.from({ length: 3 }, () => ['migrate began', 'migrate ended']).flat())
  })

  test('a leader that is told to end makes way at once, within its grace', async () => {
    const { pod } = manifests().find(({ name }) => name === 'scheduler') as { pod: Pod }
    const container = pod.containers[0] as Container
    const grace = /--grace (\d+)s/.exec(container.command.join(' '))?.[1]
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(grace))
    clear()
    const leader = start(container, 'scheduler-1')
    await until(() => logged().length === 1)
    const next = start(container, 'scheduler-2')
    const who = execFileSync(join(folder, 'bin/holdfast'), ['show', 'scheduler', '--store', redis.url], {
      encoding: 'utf8',
    })
    expect(who).toMatch(/1 +holds +scheduler\.sh .*scheduler-1/)
    leader.terminate()
    expect(await leader.ended).toMatchObject({ code: 143 })
    await until(() => logged().length === 3)
    expect(logged()).toEqual(['scheduler began', 'scheduler told', 'scheduler began'])
    next.terminate()
    await next.ended
  })

  test('a CronJob that starts two pods runs its program once', async () => {
    const { pod } = manifests().find(({ kind }) => kind === 'CronJob') as { pod: Pod }
    clear()
    const container = pod.containers[0] as Container
    const both = await Promise.all([start(container, 'a').ended, start(container, 'b').ended])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(logged()).toEqual(['report began', 'report ended'])
  })
})
