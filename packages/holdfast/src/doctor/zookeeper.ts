/** ZooKeeper: how many servers, which version, and how long can sessions be? The doctor asks with four-letter words. */
import { connect } from 'node:net'
import type { StoreUrl } from '../store-url.ts'
import { fromStoreUrl } from '../stores/zookeeper/options.ts'
import { type Chart, saidBy } from './finding.ts'
import { checkRoundTrips } from './round-trips.ts'

const ASK_MS = 5_000
const TTL_MS = 30_000
const PORT = 2_181

export async function checkZookeeper(chart: Chart, url: StoreUrl): Promise<void> {
  const todo = 'allow srvr and conf (4lw.commands.whitelist) for the machine that asks'
  if (url.scheme === 'zookeepers') {
    chart.unknown('zookeeper.server', 'four-letter words go over plain text, and this connection is TLS', todo)
    return
  }
  const servers = fromStoreUrl(url, {}).servers.map(addressOf)
  let asked = false
  for (const server of servers) {
    const where = `${server.host}:${server.port}`
    try {
      if (!asked) await checkRoundTrips(chart, 'zookeeper', () => say(server, 'srvr').then(() => null))
      const said = await say(server, 'srvr')
      if (/not in the whitelist|not executed/.test(said)) {
        chart.unknown('zookeeper.server', `${where} does not answer srvr`, todo)
        return
      }
      if (/not currently serving/.test(said)) {
        const why = 'it has no leader to follow: a majority of the ensemble must run'
        chart.warning('zookeeper.server', `${where} does not serve`, why, 'start the others, and look into its log')
        continue
      }
      checkVersion(chart, where, /Zookeeper version: ([^\s,]+)/.exec(said)?.[1] ?? '')
      if (!asked) checkConf(chart, /Mode: (\w+)/.exec(said)?.[1] ?? '', await say(server, 'conf'), url, todo)
      asked = true
    } catch (error) {
      const why = `a majority must answer, and this one does not: ${saidBy(error)}`
      chart.warning('zookeeper.server', `${where} gives no answer`, why, 'start it, or take it out of the URL')
    }
  }
}

interface Address {
  readonly host: string
  readonly port: number
}

function addressOf(text: string): Address {
  const match = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(text)
  return { host: match?.[1] ?? text, port: Number(match?.[2] ?? PORT) }
}

function say({ host, port }: Address, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect({ host, port })
    socket.setTimeout(ASK_MS, () => socket.destroy(new Error(`no answer within ${ASK_MS} ms`)))
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      said += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(said))
    // Write the word without ending the connection: some versions answer nothing to a client that has hung up.
    socket.on('connect', () => socket.write(word))
  })
}

function checkVersion(chart: Chart, where: string, version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number)
  if (major > 3 || minor > 5 || (minor === 5 && patch >= 4)) {
    chart.ok('zookeeper.version', `${where} has version ${version}`)
    return
  }
  const why = 'a node of a session that ended may stay for ever (ZOOKEEPER-2355), and with it the lock'
  chart.danger('zookeeper.version', `${where} has version ${version}`, why, 'use 3.5.4 or newer')
}

function checkConf(chart: Chart, mode: string, conf: string, url: StoreUrl, todo: string): void {
  const members = conf.match(/^server\.\d+=/gm)?.length ?? 0
  if (mode === 'standalone') {
    const why = 'while it is down nobody can get a lock, and held locks are lost after their lease'
    chart.warning('zookeeper.ensemble', 'one server, alone', why, 'run an ensemble of three or five')
  } else if (members > 0 && members % 2 === 0) {
    chart.note(
      'zookeeper.ensemble',
      `${members} servers`,
      'an even number survives no more losses than one less',
      'run three or five',
    )
  } else {
    chart.ok('zookeeper.ensemble', `${members === 0 ? 'an ensemble' : `${members} servers`}; this one is ${mode}`)
  }
  const [tick, min, max] = ['tickTime', 'minSessionTimeout', 'maxSessionTimeout'].map((name) =>
    Number(new RegExp(`^${name}=(\\d+)`, 'm').exec(conf)?.[1] ?? Number.NaN),
  ) as [number, number, number]
  if (Number.isNaN(max)) {
    chart.unknown('zookeeper.session', 'the server does not answer conf', todo)
    return
  }
  const ttlMs = url.options.ttlMs ?? TTL_MS
  const found = `ticks of ${tick} ms, sessions of ${min} to ${max} ms`
  if (max < ttlMs) {
    const why = `a ttlMs of ${ttlMs} is cut to ${max}: a pause that long loses every lock of the process`
    chart.warning('zookeeper.session', found, why, 'raise maxSessionTimeout (or tickTime), or ask for a shorter ttlMs')
  } else if (min > ttlMs) {
    const why = `this ZooKeeper can't do a ttlMs of ${ttlMs}: a dead holder keeps others waiting for ${min} ms`
    chart.warning('zookeeper.session', found, why, 'lower minSessionTimeout (or tickTime)')
  } else {
    chart.ok('zookeeper.session', found)
  }
}
