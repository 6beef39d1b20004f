/**
 * `npm run dashboard`: runs every query of docs/grafana/holdfast.json on a real Prometheus that scrapes a process which
 * uses locks, and has promtool judge the text, and the alerts of docs/how-to/monitoring.md by the cases of
 * test/docs/alerts.yml. Needs Debian's package `prometheus`. Fails if a query finds nothing or an alert is silent.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../packages/holdfast-lab/src/testbed/port.ts'
import { prometheusMetrics } from '../packages/holdfast/src/metrics/prometheus.ts'
import { playAll } from '../packages/holdfast/test/metrics/scene.ts'

const PLAY_MS = 12_000
const PATIENCE_MS = 30_000

const { panels } = JSON.parse(readFileSync('docs/grafana/holdfast.json', 'utf8')) as {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}
const metrics = prometheusMetrics()
const target = createServer(metrics.handler).listen(0, '127.0.0.1')
await once(target, 'listening')
const folder = mkdtempSync(join(tmpdir(), 'holdfast-dashboard-'))
const port = await freePort()
const server = start((target.address() as AddressInfo).port)
let failures = 0
try {
  const until = performance.now() + PLAY_MS
  while (performance.now() < until) await playAll('order')
  execFileSync('promtool', ['check', 'metrics'], { input: metrics.text(), stdio: ['pipe', 'inherit', 'inherit'] })
  console.log('promtool finds nothing wrong with the text')
  judgeAlerts()
  for (const { title, targets } of panels) for (const { expr } of targets) await ask(title, expr)
} finally {
  server.kill('SIGTERM')
  await once(server, 'exit')
  target.close()
  metrics.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failures === 0 ? 0 : 1

/** The rules as they stand on the page, and what must fire and what must not. */
function judgeAlerts(): void {
  const rules = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync('docs/how-to/monitoring.md', 'utf8'))?.[1] ?? ''
  writeFileSync(join(folder, 'rules.yml'), rules)
  copyFileSync('test/docs/alerts.yml', join(folder, 'alerts.yml'))
  for (const [what, file] of [
    ['check', 'rules.yml'],
    ['test', 'alerts.yml'],
  ] as const)
    execFileSync('promtool', [what, 'rules', file], { cwd: folder, stdio: 'inherit' })
}

function start(targetPort: number): ChildProcess {
  const file = join(folder, 'prometheus.yml')
  const job = `  - job_name: holdfast\n    static_configs:\n      - targets: ['127.0.0.1:${targetPort}']\n`
  writeFileSync(file, `global:\n  scrape_interval: 1s\nscrape_configs:\n${job}`)
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'data')}`]
  return spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`, '--log.level=error'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

/** Asks until there is a figure: the first scrapes may still be on their way. */
async function ask(title: string, expr: string): Promise<void> {
  const query = expr.replaceAll('$__rate_interval', '10s').replaceAll('$lock', '.*')
  for (const until = performance.now() + PATIENCE_MS; ; ) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`)
    const { data, error } = (await answer.json()) as {
      readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] }
      readonly error?: string
    }
    const figures = (data?.result ?? []).map(({ value }) => value[1]).filter((value) => value !== 'NaN')
    if (figures.length > 0) {
      console.log(`${title}: ${figures.join(', ')}`)
      return
    }
    if (error !== undefined || performance.now() > until) {
      failures++
      console.error(`${title}: ${error ?? 'nothing found'}\n  ${query}`)
      return
    }
    await playAll('order')
  }
}
