/** What others wrote into the store, on a terminal: names that are escape sequences, records of another form. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Holdfast, holdfast } from '../../src/index.ts'
import { Terminal } from './terminal.ts'

const terminal = new Terminal()
/** Clears the screen, sets the title, writes from right to left; U+009B is ESC [ in one character. */
const EVIL = 'x\u001b[2J\u001b]0;pwned\u0007\u009b31m\u202e\r'
let hf: Holdfast

beforeAll(async () => {
  hf = await holdfast(terminal.store, { label: EVIL, report: true })
  await hf.mutex(EVIL).acquire()
})

afterAll(() => hf.close())

// oxlint-disable-next-line no-control-regex
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

it.each([
  [['ls']],
  [['ls', '--json']],
  [['show', EVIL]],
  [['show', EVIL, '--json']],
  [['why', EVIL]],
  [['why', EVIL, '--json']],
  [['run', EVIL, '--no-wait', '--', 'true']],
  [['break', EVIL, EVIL]],
  [[EVIL]],
  [['ls', `--${EVIL}`]],
  [['ls', '--store', `redis:${EVIL}`]],
  [['run', 'free', '--', EVIL]],
])('%j prints nothing that a terminal obeys', async (args) => {
  const { out, err } = await terminal.holdfast(...args)
  expect(out + err).not.toBe('')
  expect(out).not.toMatch(OBEYED)
  expect(err).not.toMatch(OBEYED)
})

it('JSON stays JSON, and gives the names as they are', async () => {
  const { out } = await terminal.holdfast('show', EVIL, '--json')
  expect(JSON.parse(out)).toMatchObject({ name: EVIL, holders: [{ label: EVIL }] })
})

it.each([
  ['holdfast/once', { a: null, b: 5, c: { dueMs: 1, startedMs: 1e99, host: EVIL, pid: EVIL } }],
  ['holdfast/once', 'no object'],
  ['holdfast/reports', [1, 2]],
  ['holdfast/reports', { ab: 1, '../x': 1 }],
])('a cell %s of another form does no harm: %j', async (key, value) => {
  const { version } = await hf.cell(key).read()
  await hf.cell(key).write(value, version)
  const recent = [{ lock: 'x', event: EVIL, atMs: 1e99, by: EVIL, reason: 7 }]
  const waits = [{ lock: 'x', blockedBy: 'nobody' }]
  await hf.cell('holdfast/report/ab').update(() => ({ waits, holds: [], recent, host: EVIL, pid: 1, label: '' }))
  for (const command of [['ls'], ['why', 'x'], ['deadlocks']]) {
    const { code, out, err } = await terminal.holdfast(...command)
    expect({ command, code, err }).toEqual({ command, code: 0, err: '' })
    expect(out).not.toMatch(OBEYED)
  }
  expect(await hf.jobs()).toBeTypeOf('object')
})
