import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { acts, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()

describe('ls and show', () => {
  it('show holders and waiters, as tables and as JSON', async () => {
    const holder = terminal.script(['stock:42', '--ttl', '60s'], acts('a.log', 'a', 0))
    await until('the holder acts', () => terminal.read('a.log') !== '')
    const waiter = terminal.start(['run', 'stock:42', '--', 'true'])
    const show = async () => JSON.parse((await terminal.holdfast('show', 'stock:42', '--json')).out)
    await until('somebody waits', async () => (await show()).waiters.length === 1)
    terminal.script(['other', '--permits', '2/3'], acts('b.log', 'b', 0))
    await until('the other acts', () => terminal.read('b.log') !== '')

    const line = await show()
    expect(Object.keys(line)).toEqual(['name', 'capacity', 'holders', 'waiters'])
    expect(line).toMatchObject({ name: 'stock:42', capacity: 1 })
    const [place] = line.holders
    expect(Object.keys(place).sort()).toEqual(['ageMs', 'host', 'label', 'leftMs', 'pid', 'token', 'weight'])
    expect(place).toMatchObject({ label: 'sh', host: hostname(), pid: holder.pid, weight: 1 })
    expect(place.token).toMatch(/^\d+$/)
    expect(place.ageMs).toBeGreaterThanOrEqual(0)
    expect(place.leftMs).toBeGreaterThan(0)
    expect(line.waiters[0]).toMatchObject({ label: 'true', pid: waiter.pid })
    expect(BigInt(line.waiters[0].token)).toBeGreaterThan(BigInt(place.token))

    const all = (await terminal.holdfast('ls', '--json')).out
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text))
    expect(new Set(all.map(({ name }) => name))).toEqual(new Set(['other', 'stock:42']))
    const some = (await terminal.holdfast('ls', 'stock', '--json')).out
    expect(JSON.parse(some)).toMatchObject({ name: 'stock:42', capacity: 1 })

    const table = await terminal.holdfast('ls')
    expect(table).toMatchObject({ code: 0, err: '' })
    expect(table.out).toMatch(
      /^LOCK +KIND +HOLDERS +WAITERS +HELD BY +FOR\nother +3 permits +1 +0 +sh .*\nstock:42 +mutex +1 +1 +sh .*\n$/,
    )
    expect(table.out).not.toContain('\u001b')
    const places = (await terminal.holdfast('show', 'stock:42')).out
    expect(places).toMatch(/^stock:42: mutex\n\n.*STATE.*\n1 +holds +sh .* 1\/1 .*\n2 +waits +true .* 1\/1 .*\n$/)
  })

  it('say so when there is nothing', async () => {
    expect(await terminal.holdfast('ls', 'nowhere')).toMatchObject({ code: 0, out: expect.stringMatching(/^nobody/) })
    expect(await terminal.holdfast('ls', 'nowhere', '--json')).toMatchObject({ code: 0, out: '' })
    expect(await terminal.holdfast('show', 'nobody')).toMatchObject({
      code: 0,
      out: 'nobody: nobody holds it, nobody waits\n',
    })
    expect(JSON.parse((await terminal.holdfast('show', 'nobody', '--json')).out)).toEqual({
      name: 'nobody',
      capacity: 0,
      holders: [],
      waiters: [],
    })
  })

  it('let no escape sequence of a name through', async () => {
    const name = 'evil\u001b[2J\n库存'
    terminal.script([name], acts('evil.log', 'evil', 0))
    await until('the holder acts', () => terminal.read('evil.log') !== '')
    expect((await terminal.holdfast('ls', 'evil')).out).toContain('evil\\u{1b}[2J\\u{a}库存  mutex')
    expect(JSON.parse((await terminal.holdfast('ls', 'evil', '--json')).out).name).toBe(name)
  })
})

describe('break', () => {
  it('only explains itself without --yes', async () => {
    terminal.script(['keep'], acts('keep.log', 'keep', 0))
    await until('the holder acts', () => terminal.read('keep.log') !== '')
    const plain = await terminal.holdfast('break', 'keep')
    expect(plain).toMatchObject({ code: 64, out: '' })
    expect(plain.err).toMatch(/^holdfast: this would stop the renewal of keep for sh .* add --yes\n$/)
    const now = await terminal.holdfast('break', 'keep', '--now')
    expect(now).toMatchObject({ code: 64, out: '' })
    expect(now.err).toMatch(/two may act at the same time; to do it, add --yes\n$/)
    expect(await terminal.holdfast('run', 'keep', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    const nobody = await terminal.holdfast('break', 'nobody')
    expect(nobody).toMatchObject({ code: 64, err: 'holdfast: nobody holds nobody, so there is nothing to release\n' })
  })

  it('says what it has done', async () => {
    const none = await terminal.holdfast('break', 'nobody', '--yes')
    expect(none).toMatchObject({ code: 0, out: 'nobody: nobody held it, so nothing was released\n' })
    const json = await terminal.holdfast('break', 'nobody', '--yes', '--now', '--json')
    expect(JSON.parse(json.out)).toEqual({ name: 'nobody', now: true, broken: 0 })
  })

  it('lets the lease run out: the program is stopped, and the next acts only when it is gone', async () => {
    const holder = terminal.script(['slow', '--ttl', '3s', '--grace', '1s'], acts('slow.log', 'holder', 0))
    await until('the holder acts', () => terminal.read('slow.log') !== '')
    const next = terminal.script(['slow'], acts('slow.log', 'next', 3))
    const broken = await terminal.holdfast('break', 'slow', '--yes')
    expect(broken.out).toMatch(/^slow: taken from 1 holder; the next waiter is served when the lease has run out/)
    expect(await holder.exit).toMatchObject({ code: 79 })
    expect(await next.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('slow.log'))).toEqual(['holder', 'next'])
  })

  it('with --now serves the next at once, and the program is stopped', async () => {
    const holder = terminal.script(['fast', '--ttl', '60s'], acts('fast.log', 'holder', 0))
    await until('the holder acts', () => terminal.read('fast.log') !== '')
    const next = terminal.start(['run', 'fast', '--', 'true'])
    const broken = await terminal.holdfast('break', 'fast', '--yes', '--now')
    expect(broken.out).toMatch(/two may act at the same time\n$/)
    expect(await next.exit).toMatchObject({ code: 0 })
    const exit = await holder.exit
    expect(exit.code).toBe(79)
    expect(exit.err).toMatch(/^holdfast: lock "fast" was lost: .*; sh was ended by SIGTERM\n$/)
  })
})
