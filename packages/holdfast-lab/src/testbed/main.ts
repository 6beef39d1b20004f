/**
 * `npm run testbed [-- names… --install]`: starts real servers, prints their URLs one a line, and stops them on Ctrl-C.
 */
import { HoldfastError, UsageError } from 'holdfast'
import type { ServerKind } from './needs.ts'
import { install, missing } from './require.ts'
import { type Testbed, testbed } from './testbed.ts'

interface Stage {
  readonly kind: ServerKind
  readonly start: (bed: Testbed, durable: boolean) => Promise<{ readonly url: string }>
}

const STAGES: Readonly<Record<string, Stage>> = {
  redis: { kind: 'redis', start: (bed) => bed.redis() },
  sentinel: { kind: 'redis', start: (bed) => bed.sentinel() },
  cluster: { kind: 'redis', start: (bed) => bed.cluster() },
  redlock: { kind: 'redis', start: (bed) => bed.redlock(5) },
  etcd: { kind: 'etcd', start: (bed) => bed.etcd(3) },
  zookeeper: { kind: 'zookeeper', start: (bed) => bed.zookeeper(3) },
  postgres: { kind: 'postgres', start: (bed, durable) => bed.postgres({ durable }) },
  pgbouncer: { kind: 'pgbouncer', start: async (bed, durable) => bed.pgbouncer(await bed.postgres({ durable })) },
  mariadb: { kind: 'mariadb', start: (bed, durable) => bed.mariadb({ durable }) },
  'postgres-replica': { kind: 'postgres', start: (bed, durable) => bed.postgresReplica({ durable }) },
  'mariadb-replica': { kind: 'mariadb', start: (bed, durable) => bed.mariadbReplica({ durable }) },
  galera: { kind: 'mariadb', start: (bed, durable) => bed.galera(3, { durable }) },
}

const USAGE = `npm run testbed -- [${Object.keys(STAGES).join('] [')}] [--install] [--durable]
Starts these servers (default: all) on free loopback ports, prints their URLs, and stops them on Ctrl-C.
--install: installs missing Debian packages first; needs root.
--durable: PostgreSQL and MariaDB write to the disk before they answer a commit, as they do by default elsewhere.
`

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE)
    return
  }
  const named = args.filter((arg) => arg !== '--install' && arg !== '--durable')
  const stages = (named.length === 0 ? Object.keys(STAGES) : named).map((name) => {
    const stage = Object.hasOwn(STAGES, name) ? STAGES[name] : undefined
    if (stage === undefined) throw new UsageError(`testbed: "${name}" is not known\n${USAGE}`)
    return stage
  })
  const absent = await missing([...new Set(stages.map(({ kind }) => kind))])
  if (absent.length > 0 && args.includes('--install')) await install(absent)
  const bed = await testbed()
  const stop = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
  try {
    for (const stage of stages) {
      const started = await Promise.race([stage.start(bed, args.includes('--durable')), stop])
      if (started === undefined) return
      process.stdout.write(`${started.url}\n`)
    }
    await untilStopped(stop)
  } finally {
    await bed.close()
  }
}

/** Servers and guardian don't keep this process alive; a timer does. */
async function untilStopped(stop: Promise<void>): Promise<void> {
  const alive = setInterval(() => undefined, 60_000)
  await stop
  clearInterval(alive)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof HoldfastError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = error instanceof UsageError ? 64 : 1
}
