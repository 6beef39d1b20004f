/** Names and times as people read them. */
import type { ComponentChildren, JSX } from 'preact'

/** Letters that are not seen, or that turn the direction of others: shown by their number. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A name from somebody else's program: text, whatever it contains, and never longer than its room. */
export function Name({ text }: { readonly text: string }): JSX.Element {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, match.index))
    const code = match[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    parts.push(<span class="hidden-letter">U+{code}</span>)
    from = match.index + match[0].length
  }
  parts.push(text.slice(from))
  return (
    <bdi class="name" title={plain(text)}>
      {parts}
    </bdi>
  )
}

/** The same where only text can stand. */
export function plain(text: string): string {
  return text.replace(HIDDEN, (char) => `U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`)
}

/** Two units at most: `4.2 s`, `3 m 05 s`, `2 h 10 m`. Never broken into two lines. */
export function span(ms: number): string {
  return words(Math.max(0, ms)).replaceAll(' ', '\u00a0')
}

function words(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} m`
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour12: false })
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value.toLocaleString('en')} ${value === 1 ? one : many}`
}
