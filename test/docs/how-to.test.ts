/** The pages of docs/how-to point at what is there, and the alerts of monitoring.md ask for what is measured. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { prometheusMetrics } from '../../packages/holdfast/src/metrics/prometheus.ts'
import { playAll } from '../../packages/holdfast/test/metrics/scene.ts'

const HOW_TO = new URL('../../docs/how-to/', import.meta.url)
const pages = readdirSync(HOW_TO).filter((name) => name.endsWith('.md'))
const read = (page: string): string => readFileSync(new URL(page, HOW_TO), 'utf8')

test('what a page points at is there', () => {
  expect(pages.length).toBeGreaterThan(10)
  for (const page of pages) {
    const links = [...read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map((match) => match[1] as string)
    for (const link of links.filter((each) => !each.includes(':')))
      expect(existsSync(new URL(link, HOW_TO)), `${page}: ${link}`).toBe(true)
  }
})

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

test('monitoring.md: each alert asks for metrics and labels that a scrape has', async () => {
  const metrics = prometheusMetrics()
  await playAll('order')
  const lines = metrics.text().split('\n')
  metrics.stop()
  const measure = readFileSync(new URL('../../packages/holdfast/src/metrics/measure.ts', import.meta.url), 'utf8')
  const yaml = /^```yaml\n([\s\S]*?)^```$/m.exec(read('monitoring.md'))?.[1] ?? ''
  const rules = (parse(yaml) as Rules).groups.flatMap((group) => group.rules)
  expect(rules.map(({ alert }) => alert)).toHaveLength(7)
  for (const { alert, expr } of rules) {
    const asked = [...expr.matchAll(/(holdfast_[a-z_]+)(?:\{([^}]*)\})?/g)]
    expect(asked, alert).not.toEqual([])
    for (const [, name = '', selector = ''] of asked) {
      const series = lines.find((line) => line.startsWith(`${name}{`)) ?? ''
      expect(series, `${alert} asks for ${name}`).not.toBe('')
      for (const [, label = '', value = ''] of selector.matchAll(/([a-z]+)="([^"]*)"/g)) {
        expect(series, alert).toContain(`${label}="`)
        // A failed renewal is not in the scene: the values stand in the source.
        expect(measure, alert).toContain(`'${value}'`)
      }
      for (const label of /by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? []) {
        expect(series, `${alert} sums by ${label}`).toContain(`${label}="`)
      }
    }
  }
})
