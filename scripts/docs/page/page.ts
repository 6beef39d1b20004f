/** What a page does in the browser: theme, navigation on a phone, copying code, and the search. */
import { openSearch } from './search-box.ts'

const root = document.documentElement
const script = document.currentScript as HTMLScriptElement
const base = new URL(script.dataset['root'] ?? './', location.href)
const button = (name: string): HTMLButtonElement | null => document.querySelector(`[data-${name}]`)

button('theme-switch')?.addEventListener('click', () => {
  const dark = getComputedStyle(root).colorScheme === 'dark'
  const system = matchMedia('(prefers-color-scheme: dark)').matches
  const now = root.dataset['theme'] ?? (system ? 'dark' : 'light')
  const next = dark || now === 'dark' ? 'light' : 'dark'
  root.dataset['theme'] = next
  try {
    localStorage.setItem('theme', next)
  } catch {
    // A browser without storage keeps the theme until the reader leaves the page.
  }
})

const menu = button('menu')
menu?.addEventListener('click', () => {
  const open = document.body.classList.toggle('open')
  menu.setAttribute('aria-expanded', String(open))
})

button('search')?.addEventListener('click', () => openSearch(base))
addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLInputElement
  const asked = (event.key === '/' && !typing) || (event.key === 'k' && (event.metaKey || event.ctrlKey))
  if (!asked) return
  event.preventDefault()
  openSearch(base)
})

for (const pre of document.querySelectorAll('article pre')) {
  const copy = document.createElement('button')
  copy.type = 'button'
  copy.className = 'copy'
  copy.textContent = 'Copy'
  copy.addEventListener('click', () => {
    const said = (text: string): void => {
      copy.textContent = text
      setTimeout(() => (copy.textContent = 'Copy'), 1_500)
    }
    navigator.clipboard.writeText(pre.querySelector('code')?.textContent ?? '').then(
      () => said('Copied'),
      () => said('Not allowed'),
    )
  })
  const frame = document.createElement('div')
  frame.className = 'code'
  pre.replaceWith(frame)
  frame.append(pre, copy)
}

// Marks the heading that the reader is at in the contents.
const marks = new Map([...document.querySelectorAll<HTMLAnchorElement>('.toc a')].map((a) => [a.hash.slice(1), a]))
if (marks.size > 0) {
  const headings = [...document.querySelectorAll<HTMLElement>('article h2[id], article h3[id]')]
  const mark = (): void => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120)
    const now = (passed.at(-1) ?? headings[0])?.id ?? ''
    for (const [id, a] of marks) a.classList.toggle('now', decodeURIComponent(id) === now)
  }
  addEventListener('scroll', mark, { passive: true })
  mark()
}
document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest' })
