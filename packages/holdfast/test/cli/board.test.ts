import { describe, expect, it } from 'vitest'
import type { LineView, PlaceView } from '../../src/contract/driver.ts'
import { StoreUnreachableError } from '../../src/contract/errors.ts'
import { Board, plainLine } from '../../src/cli/board.ts'
import { keysIn } from '../../src/cli/screen.ts'
import { width } from '../../src/cli/table.ts'
import { waitText } from '../../src/cli/waiting.ts'

const SIZE = { columns: 80, rows: 10 }

function place(label: string, ageMs: number, leftMs = 1_000): PlaceView {
  return { token: 1n, weight: 1, ageMs, leftMs, label, host: 'h', pid: 7 }
}

function lock(name: string, ageMs: number, waits: readonly number[], leftMs = 1_000): LineView {
  return { name, capacity: 1, holders: [place('web', ageMs, leftMs)], waiters: waits.map((ms) => place('w', ms)) }
}

function boardOf(...lines: readonly LineView[]): Board {
  const board = new Board('redis://h', 'waiters')
  board.see({ lines, seenMs: 0, outage: null })
  return board
}

const names = (board: Board): string[] => board.lines().map(({ name }) => name)
const press = (board: Board, text: string): boolean =>
  keysIn(text)
    .map((key) => board.press(key, SIZE))
    .includes(true)

describe('the board of top', () => {
  const lines = [lock('b', 500, [], 90), lock('a', 100, [5, 9]), lock('c', 900, [7, 30], 5_000)]

  it('sorts by its keys, and turns round', () => {
    const board = boardOf(...lines)
    expect(names(board)).toEqual(['c', 'a', 'b'])
    for (const [key, order] of [
      ['a', 'cba'],
      ['l', 'bac'],
      ['n', 'abc'],
      ['r', 'cba'],
      ['w', 'bac'],
    ] as const) {
      press(board, key)
      expect(names(board).join(''), key).toBe(order)
    }
  })

  it('shows name and holder on a narrow screen, where times and kinds give way', () => {
    const rows = boardOf(lock('stock:42', 500, [5])).rows({ columns: 40, rows: 6 }, 0, false)
    expect(rows[2]).toBe('WAITERS  LEASE  LOCK      HELD BY')
    expect(rows[3]).toMatch(/^ +1 +1\.0s +stock:42 +web \(h:7\)/)
  })

  it('filters by what is typed, which is no command meanwhile', () => {
    const board = boardOf(lock('queue', 1, []), lock('other', 1, []))
    expect(press(board, '/qu')).toBe(false)
    expect(names(board)).toEqual(['queue'])
    press(board, '\u007f\u007f\r')
    expect(names(board)).toEqual(['other', 'queue'])
    press(board, '/WEB (h:7\r')
    expect(names(board)).toHaveLength(2)
    press(board, '/zzz\u001b')
    expect(names(board)).toHaveLength(2)
    expect(press(board, 'q')).toBe(true)
    expect(press(board, '\u0003')).toBe(true)
  })

  it('is as large as the terminal, scrolls no further than its end, and says which part it shows', () => {
    const many = Array.from({ length: 30 }, (_, i) => lock(`lock-${i}`.padEnd(600, 'x'), i, []))
    const board = boardOf(...many)
    press(board, 'n')
    const rows = (): string[] => board.rows(SIZE, 0, false)
    expect(rows()).toHaveLength(10)
    expect(rows().filter((row) => width(row) > 80)).toEqual([])
    expect(rows()[1]).toBe('by name  1 to 6 of 30')
    press(board, '\u001b[6~')
    expect(rows()[3]).toContain('lock-15')
    press(board, '\u001b[F')
    expect(rows()[8]).toContain('lock-9')
    expect(rows()[1]).toBe('by name  25 to 30 of 30')
    press(board, 'jjj')
    expect(rows()[8]).toContain('lock-9')
    press(board, 'k')
    expect(rows()[8]).toContain('lock-8')
    expect(board.rows({ columns: 5, rows: 2 }, 0, true)).toHaveLength(2)
  })

  it('keeps what it shows during a pause and an outage', () => {
    const board = boardOf(lock('a', 1, []))
    board.see({ lines: [lock('a', 1, [])], seenMs: 0, outage: new StoreUnreachableError('gone\u001b[2J') })
    expect(board.rows(SIZE, 2_000, false)[1]).toBe('OUTAGE, seen 2.0s ago: gone\\u{1b}[2J')
    press(board, ' ')
    board.see({ lines: [], seenMs: 1, outage: null })
    expect(names(board)).toEqual(['a'])
    press(board, ' ')
    board.see({ lines: [], seenMs: 1, outage: null })
    expect(names(board)).toEqual([])
  })

  it('lets no control character of a name or a label through', () => {
    const evil = 'x\u001b[2J\u202ey\u0007'
    const line: LineView = { ...lock(evil, 1, [1]), holders: [place(evil, 1)] }
    const text = [...boardOf(line).rows(SIZE, 0, false), plainLine(line), waitText(line, 'h', 7)].join('\n')
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(text).toContain('x\\u{1b}[2J\\u{202e}y\\u{7}')
  })
})

describe('keysIn', () => {
  it('knows letters, arrows and control keys, several at once, and drops what it does not know', () => {
    expect(keysIn('a\u001b[A\u001bOB\u001b[5~库')).toEqual(['a', 'up', 'down', 'page up', '库'])
    expect(keysIn('\u001b[15~\u001b[1;5C\u0001')).toEqual([])
    expect(keysIn('\u001b')).toEqual(['escape'])
  })
})

describe('waitText', () => {
  it('tells the position among the waiters, and who holds', () => {
    const line: LineView = { ...lock('a', 2_000, []), waiters: [place('x', 1), { ...place('y', 1), pid: 8 }] }
    expect(waitText(line, 'h', 8)).toBe('waiting for a, position 2 of 2: held for 2.0s by web (h:7)')
    expect(waitText({ ...line, holders: [...line.holders, place('z', 1)] }, 'h', 9)).toBe(
      'waiting for a: held for 2.0s by web (h:7) and 1 more',
    )
    expect(waitText({ ...line, holders: [] }, 'h', 7)).toBe('waiting for a, position 1 of 2: nobody holds it now')
  })
})
