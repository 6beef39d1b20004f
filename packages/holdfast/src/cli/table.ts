/** Lays rows out in columns. */

export interface Column {
  readonly title: string
  /** Default 'left'. */
  readonly align?: 'left' | 'right'
}

export function table(columns: readonly Column[], rows: readonly (readonly string[])[], styled: boolean): string {
  const cells = rows.map((row) => row.map(printable))
  const widths = columns.map((column, i) => Math.max(width(column.title), ...cells.map((row) => width(row[i] ?? ''))))
  const lay = (row: readonly string[]): string =>
    columns
      .map((column, i) => pad(row[i] ?? '', widths[i] ?? 0, column.align ?? 'left'))
      .join('  ')
      .trimEnd()
  const head = lay(columns.map((column) => column.title))
  return [styled ? `\u001b[1m${head}\u001b[22m` : head, ...cells.map(lay)].join('\n')
}

/** Names come from other people's programs: an escape sequence in a name must not reach the terminal as such. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/** How many columns of a terminal the text takes. */
export function width(text: string): number {
  let columns = 0
  for (const char of text) columns += /\p{M}/u.test(char) ? 0 : WIDE.test(char) ? 2 : 1
  return columns
}

/** The text cut to so many columns, with a mark at the cut. */
export function clip(text: string, columns: number): string {
  if (width(text) <= columns) return text
  let shown = ''
  let used = 1
  for (const char of text) {
    used += width(char)
    if (used > columns) break
    shown += char
  }
  return columns < 1 ? '' : `${shown}…`
}

const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u

function pad(text: string, columns: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, columns - width(text)))
  return align === 'left' ? text + space : space + text
}
