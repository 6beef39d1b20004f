/** Light, dark, or as the system has it; remembered by the browser. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

export type Theme = 'auto' | 'light' | 'dark'

const KEY = 'holdfast-console-theme'
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' }

export function startTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  const theme = kept === 'light' || kept === 'dark' ? kept : 'auto'
  apply(theme)
  return theme
}

function apply(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function ThemeButton({ theme: first }: { readonly theme: Theme }): JSX.Element {
  const [theme, set] = useState(first)
  const turn = (): void => {
    const next = NEXT[theme]
    localStorage.setItem(KEY, next)
    apply(next)
    set(next)
    // Charts are drawn with colours that they have read: they listen for this.
    dispatchEvent(new Event('holdfast-theme'))
  }
  return (
    <button type="button" class="theme" onClick={turn} aria-label={`Colours: ${theme}. Change`}>
      {theme === 'auto' ? '◐' : theme === 'light' ? '○' : '●'}
    </button>
  )
}
