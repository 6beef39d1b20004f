/** What becomes of the calls of one turn, whatever the one statement for all of them answers. */
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/driver.ts'
import { StoreError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import { type Answer, CallBatch } from '../../../src/stores/sql/batch.ts'
import { Traffic } from '../../../src/stores/sql/batch-statements.ts'

const entry = (line: string): Entry => ({ line, id: line, weight: 1, capacity: 1, ttlMs: 1_000, data: '' })

/** Notes what is sent, and answers with the name of the line. */
function recorded(together: (entries: readonly Entry[]) => Promise<readonly Answer[]>) {
  const sent: string[] = []
  const batch = new CallBatch({
    traffic: new Traffic(),
    halvesFrom: 16,
    async alone({ line }) {
      sent.push(line)
      if (line === 'bad') throw new StoreError('refused')
      return line
    },
    together(entries) {
      sent.push(entries.map(({ line }) => line).join('+'))
      return together(entries)
    },
  })
  return { sent, ask: (line: string) => batch.ask(entry(line)) }
}
const names = async (entries: readonly Entry[]): Promise<Answer[]> => entries.map(({ line }) => line)

describe('calls of one turn', () => {
  test('one is sent alone, several together; each gets its own answer', async () => {
    const { sent, ask } = recorded(names)
    expect(await ask('a')).toBe('a')
    expect(await Promise.all(['b', 'c', 'd'].map(ask))).toEqual(['b', 'c', 'd'])
    expect(sent).toEqual(['a', 'b+c+d'])
  })

  test('after one caller alone for long, a crowd is joined all the same, but for its first', async () => {
    const { sent, ask } = recorded(names)
    for (let i = 0; i < 40; i++) await ask('a')
    expect(await Promise.all(['b', 'c', 'd'].map(ask))).toEqual(['b', 'c', 'd'])
    expect(await Promise.all(['e', 'f'].map(ask))).toEqual(['e', 'f'])
    expect(sent.slice(40)).toEqual(['b', 'c+d', 'e+f'])
  })

  test('many are two statements of half the size, and none has more than 128', async () => {
    for (const [calls, sizes] of [
      [14, [14]],
      [16, [8, 8]],
      [62, [31, 31]],
      [255, [128, 127]],
      [600, [128, 128, 128, 128, 44, 44]],
    ] as const) {
      const { sent, ask } = recorded(names)
      const lines = Array.from({ length: calls }, (_, i) => `${i}`)
      expect(await Promise.all(lines.map(ask))).toEqual(lines)
      expect(sent.map((text) => text.split('+').length)).toEqual(sizes)
    }
  })

  test('what is asked for while one is on its way is one statement: halves are not halved again', async () => {
    let answer: () => void = () => {}
    const waits = new Promise<void>((resolve) => (answer = resolve))
    const { sent, ask } = recorded(async (entries) => {
      if (entries[0]?.line === 'first') await waits
      return names(entries)
    })
    const first = Promise.all(['first', 'second'].map(ask))
    await Promise.resolve().then(() => new Promise(setImmediate))
    await Promise.all(Array.from({ length: 100 }, (_, i) => ask(`${i}`)))
    answer()
    await first
    expect(sent.map((text) => text.split('+').length)).toEqual([2, 100])
  })

  test('callers who ask at different times come together again: two statements are on their way, no more', async () => {
    const waiting: (() => void)[] = []
    const { sent, ask } = recorded(async (entries) => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return names(entries)
    })
    const turn = (lines: string): Promise<Answer[]> => Promise.all(lines.split('').map(ask))
    const asked: Promise<Answer[]>[] = []
    for (const lines of ['ab', 'cd', 'e', 'fg', 'h']) {
      asked.push(turn(lines))
      await new Promise(setImmediate)
    }
    expect(sent).toEqual(['a+b', 'c+d'])
    // Whoever was answered asks for the next thing first, and goes with those who waited.
    const next = asked[0]?.then(() => turn('ij'))
    waiting.shift()?.()
    await asked[0]
    await new Promise(setImmediate)
    expect(sent.slice(2)).toEqual(['e+f+g+h+i+j'])
    for (const answer of waiting) answer()
    expect((await Promise.all([...asked, next])).flat()).toEqual('abcdefghij'.split(''))
  })

  test('a statement that does not end holds the others up once, not for ever', async () => {
    const { sent, ask } = recorded((entries) => {
      return entries[0]?.line.startsWith('stuck') ? new Promise(() => undefined) : names(entries)
    })
    void ask('stuck 1')
    void ask('stuck 2')
    await new Promise(setImmediate)
    void ask('stuck 3')
    void ask('stuck 4')
    await new Promise(setImmediate)
    expect(await Promise.all(['a', 'b'].map(ask))).toEqual(['a', 'b'])
    expect(await Promise.all(['c', 'd'].map(ask))).toEqual(['c', 'd'])
    expect(sent).toEqual(['stuck 1+stuck 2', 'stuck 3+stuck 4', 'a+b', 'c+d'])
  }, 10_000)

  test('a refusal is that of one: each asks by itself, and only the bad one is told', async () => {
    const { sent, ask } = recorded(() => Promise.reject(new StoreError('refused')))
    const answers = await Promise.allSettled(['a', 'bad', 'c'].map(ask))
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(sent).toEqual(['a+bad+c', 'a', 'bad', 'c'])
  })

  test('no answer leaves all of them in doubt, and nothing is sent again here', async () => {
    const { sent, ask } = recorded(() => Promise.reject(new StoreUnreachableError('silent')))
    for (const { status } of await Promise.allSettled(['a', 'b'].map(ask))) expect(status).toBe('rejected')
    expect(sent).toEqual(['a+b'])
  })

  test('an answer that is too short is no answer to the rest', async () => {
    const { ask } = recorded(async () => ['a'])
    expect(await Promise.all(['a', 'b'].map(ask))).toEqual(['a', null])
  })
})
