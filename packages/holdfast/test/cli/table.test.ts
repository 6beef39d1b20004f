import { describe, expect, it } from 'vitest'
import { printable, table, width } from '../../src/cli/table.ts'

describe('table', () => {
  it('aligns columns and leaves no space at the end of a line', () => {
    const text = table(
      [{ title: 'LINE' }, { title: 'N', align: 'right' }, { title: 'WHO' }],
      [
        ['stock', '1', 'a'],
        ['x', '12', ''],
      ],
      false,
    )
    expect(text).toBe('LINE    N  WHO\nstock   1  a\nx      12')
  })

  it('writes bold only when asked to', () => {
    const columns = [{ title: 'A' }]
    expect(table(columns, [['b']], false)).not.toContain('\u001b')
    expect(table(columns, [['b']], true)).toBe('\u001b[1mA\u001b[22m\nb')
  })

  it('counts wide letters as two columns, and marks as none', () => {
    expect(width('库存')).toBe(4)
    expect(width('e\u0301')).toBe(1)
    expect(table([{ title: 'A' }, { title: 'B' }], [['库存', 'x']], false)).toBe('A     B\n库存  x')
  })

  it('lets no escape sequence through from a name', () => {
    expect(printable('a\u001b[2Jb\nc')).toBe('a\\u{1b}[2Jb\\u{a}c')
    expect(printable('right\u202eleft')).toBe('right\\u{202e}left')
    expect(table([{ title: 'A' }], [['\u001b]0;x\u0007']], false)).not.toContain('\u001b')
  })
})
