/**
 * Runs exhibits on one stage, so that their servers are shared, and compares what came of them with what the docs say.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EXHIBITS } from '../../src/lab/catalogue.ts'
import type { Exhibit, Result } from '../../src/lab/exhibit.ts'
import { jsonReport } from '../../src/lab/json.ts'
import { runExhibit } from '../../src/lab/run.ts'
import { Stage } from '../../src/lab/stage.ts'
import { requireServers, requireTools, skipped } from '../../src/testbed/require.ts'

interface Said {
  readonly shown: boolean
  readonly acts: readonly {
    readonly by: string
    readonly title: string
    readonly result: Result
    readonly harm: { readonly name: string; readonly value: number }
  }[]
}

/** Each act: who acts, what came of it, and the figure of harm where it is the same every time. */
type Expected = readonly [by: 'recipe' | 'remedy' | 'holdfast', result: Result, harm?: number]

export function exhibitTests(expected: Readonly<Record<string, readonly Expected[]>>): void {
  const stage = new Stage()
  const exhibits = Object.keys(expected).map((name) => EXHIBITS.find((each) => each.name === name) as Exhibit)
  const kinds = [...new Set(exhibits.flatMap(({ servers }) => servers))]
  describe.skipIf(kinds.some(skipped))(`on ${kinds.join(', ')}`, () => {
    beforeAll(async () => {
      await requireServers(kinds)
      await requireTools(exhibits.flatMap(({ tools = [] }) => tools))
    })
    afterAll(() => stage.close())
    test.each(exhibits)('$name', { timeout: 90_000 }, async (exhibit) => {
      const report = await runExhibit(exhibit, stage)
      const said = JSON.parse(jsonReport(report)) as Said
      const acts = expected[exhibit.name] ?? []
      const came = said.acts.map(({ by, result, harm }, i) => [
        by,
        result,
        ...(acts[i]?.[2] === undefined ? [] : [harm.value]),
      ])
      expect(came, JSON.stringify(said.acts)).toEqual(acts)
      expect(said.shown).toBe(true)
    })
  })
}
