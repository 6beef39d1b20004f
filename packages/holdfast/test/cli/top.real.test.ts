/** `holdfast top` and `ls --watch`, as they look in a real terminal and without one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { acts, Terminal, until } from './terminal.ts'
import { Window } from './window.ts'

const terminal = new Terminal()
const window = new Window()
let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
})
afterAll(() => bed.close())

async function hold(name: string, log: string, ...options: string[]): Promise<void> {
  terminal.script([name, ...options], acts(log, 'holder', 0))
  await until('the holder acts', () => terminal.read(log) !== '')
}

/** The shell is as it was: its own text, a cursor, and keys that are shown as they are typed. */
async function expectRestored(): Promise<void> {
  await until('the terminal is given back', () => !window.isAlternate && window.hasCursor)
  window.line('stty -a | tr " ;" "\\n\\n" | grep -E "^-?(echo|icanon)$" | xargs echo modes:')
  await window.shows(/^modes: icanon echo$/m)
}

describe('top in a terminal', () => {
  it('shows locks live, sorts, filters, follows the size, and gives the terminal back', async () => {
    await hold('evil\u001b[2J\u202ename', 'a.log', '--label', 'web')
    await hold('pool', 'b.log', '--permits', '2/3')
    window.open({ HOLDFAST_STORE: terminal.store })
    window.line('echo before; holdfast top --interval 200ms; echo ended with $?')
    await window.shows(/2 locks, 2 holders, 0 waiters/)
    expect(window.text).toMatch(/mutex +evil\\u\{1b\}\[2J\\u\{202e\}name +web \(/)
    const order = (): string[] => window.text.match(/(evil|pool)/g) ?? []
    terminal.start(['run', 'pool', '--permits', '3/3', '--quiet', '--', 'true'])
    await window.shows(/1 waiter\b[\s\S]*\n +1 +[\d.]+m?s .*pool/)
    expect(order()).toEqual(['pool', 'evil'])
    window.press('n')
    await until('sorted by name', () => order().join() === 'evil,pool')
    window.press('r')
    await until('reversed', () => order().join() === 'pool,evil')
    window.type('/poo')
    await window.shows(/filter: poo_ \(1 found\)/)
    expect(window.rows.filter((row) => row.includes('evil'))).toEqual([])
    window.press('Enter')
    await window.shows(/filter: poo \(1 found\)/)
    window.press('Escape')
    await window.shows(/evil/)
    window.resize(50, 8)
    await until('it fits', () => window.rows.length === 8 && /^w waiters .*…$/.test(window.rows[7] ?? ''))
    window.resize(40, 8)
    await window.shows(/WAITERS +LEASE +LOCK[\s\S]*\bpool\b/)
    window.press('C-z')
    await window.shows(/Stopped/)
    expect(window.isAlternate).toBe(false)
    window.line('fg')
    await until('it is back', () => window.isAlternate)
    window.resize(80, 24)
    window.press('q')
    await expectRestored()
    expect(window.text).toContain('before')
  })

  it.each([
    ['TERM', 143],
    ['HUP', 129],
  ] as const)('gives the terminal back when %s ends it', async (signal, code) => {
    window.open({ HOLDFAST_STORE: terminal.store })
    const file = terminal.path(`${signal}.pid`)
    window.line(`sh -c 'echo $$ > ${file}; exec "$NODE" "$HOLDFAST_CLI" top'; echo ended with $?`)
    await until('it has the terminal', () => window.isAlternate)
    process.kill(Number(terminal.read(`${signal}.pid`)), `SIG${signal}`)
    await window.shows(new RegExp(`ended with ${code}`))
    await expectRestored()
  })

  it('shows an outage of the store, and its end', async () => {
    const redis = await bed.redis()
    window.open({ HOLDFAST_STORE: `${redis.url}?connectTimeoutMs=1000` })
    window.line('holdfast top --interval 200ms')
    await window.shows(/0 locks/)
    await redis.kill()
    await window.shows(/OUTAGE, seen .* ago: /)
    await redis.start()
    await until('it is over', () => !window.text.includes('OUTAGE'))
    window.press('q')
    await expectRestored()
  })
})

describe('without a terminal', () => {
  it('top prints a plain line for each lock that has changed, the most wanted first', async () => {
    await hold('first', 'c.log')
    await hold('second', 'd.log')
    const waiter = terminal.start(['run', 'second', '--quiet', '--', 'true'])
    await until('it waits', async () => (await terminal.waiters('second')) === 1)
    const once = await terminal.holdfast('top', '--count', '1')
    expect(once).toMatchObject({ code: 0, err: '' })
    expect(once.out).toMatch(
      /^\S+ second \(mutex\): held by sh .*, 1 waiting, longest .*\n\S+ first \(mutex\): held by sh .*, 0 waiting\n$/,
    )
    const live = terminal.start(['top', '--interval', '100ms'])
    await until('it has looked', () => live.out.split('\n').length === 3)
    waiter.kill('SIGTERM')
    await until('it tells what has changed', () => /second \(mutex\): held by sh .*, 0 waiting\n$/.test(live.out))
    expect(live.out.split('\n')).toHaveLength(4)
    live.kill('SIGTERM')
    expect(await live.exit).toMatchObject({ code: 143, err: '' })
  })

  it('ls --watch prints what has changed, and a lock that is free again has capacity 0', async () => {
    const holder = terminal.script(['watched'], acts('w.log', 'holder', 0))
    await until('the holder acts', () => terminal.read('w.log') !== '')
    const json = terminal.start(['ls', 'watched', '--watch', '--json', '--interval', '100ms'])
    const tables = terminal.start(['ls', 'watched', '--watch', '--interval', '100ms'])
    await until('they have looked', () => json.out !== '' && tables.out !== '')
    holder.kill('SIGTERM')
    await until('they tell', () => json.out.split('\n').length === 3 && tables.out.includes('nobody'))
    const [held, free] = json.out.split('\n').map((text) => (text === '' ? null : JSON.parse(text)))
    expect(held).toMatchObject({ name: 'watched', capacity: 1, waiters: [] })
    expect(free).toEqual({ name: 'watched', capacity: 0, holders: [], waiters: [] })
    expect(tables.out).toMatch(/^\S+Z\nLOCK +KIND[\s\S]*watched +mutex[\s\S]*\n\S+Z\nnobody holds or waits for a lock/)
  })

  it('both refuse what makes no sense', async () => {
    for (const args of [
      ['top', '--sort', 'size'],
      ['top', '--interval', '1ms'],
      ['top', '--count', '0'],
      ['ls', '--interval', '1s'],
    ]) {
      expect(await terminal.holdfast(...args)).toMatchObject({ code: 64, out: '' })
    }
  })
})

describe('ls --watch in a terminal', () => {
  it('is redrawn in place until q', async () => {
    window.open({ HOLDFAST_STORE: terminal.store })
    window.line('echo before; holdfast ls here --watch --interval 200ms; echo ended with $?')
    await window.shows(/nobody holds or waits for a lock whose name begins with here/)
    await hold('here', 'h.log')
    await window.shows(/^here +mutex +1 +0 +sh /m)
    expect(window.text).not.toContain('nobody')
    window.press('q')
    await window.shows(/before\nended with 0/)
    await expectRestored()
  })
})
