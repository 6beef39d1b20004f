/** The dialog of the search. The first opening loads the sections. */
import { type Hit, type Section, searchOf, stem, words } from '../search.ts'

const CHINESE = document.documentElement.lang.startsWith('zh')
const SAYS = CHINESE
  ? { field: '搜索文档', none: '没有找到', loading: '正在载入…' }
  : { field: 'Search the documentation', none: 'Nothing found', loading: 'Loading…' }
const EXCERPT = 150

let dialog: HTMLDialogElement | undefined

export function openSearch(base: URL): void {
  dialog ??= make(base)
  if (!dialog.open) dialog.showModal()
  dialog.querySelector('input')?.select()
}

function make(base: URL): HTMLDialogElement {
  const made = document.createElement('dialog')
  made.className = 'finder'
  made.innerHTML = '<input type="search" autocomplete="off" spellcheck="false"><ol></ol>'
  document.body.append(made)
  const field = made.querySelector('input') as HTMLInputElement
  const list = made.querySelector('ol') as HTMLOListElement
  field.placeholder = SAYS.field
  field.setAttribute('aria-label', SAYS.field)
  let search: ReturnType<typeof searchOf> | undefined
  const show = (): void => {
    const question = field.value.trim()
    if (search === undefined) {
      list.replaceChildren(note(question === '' ? '' : SAYS.loading))
      return
    }
    const hits = question === '' ? [] : search(question)
    list.replaceChildren(...hits.map((hit, i) => item(hit, base, i === 0)))
    if (hits.length === 0 && question !== '') list.replaceChildren(note(SAYS.none))
  }
  const begin = async (): Promise<void> => {
    search = searchOf(await load(base))
    show()
  }
  void begin()
  field.addEventListener('input', show)
  made.addEventListener('click', (event) => {
    if (event.target === made || (event.target as Element).closest('a') !== null) made.close()
  })
  made.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') made.querySelector<HTMLAnchorElement>('.now a')?.click()
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    move(list, event.key === 'ArrowDown' ? 1 : -1)
  })
  return made
}

function move(list: HTMLOListElement, by: number): void {
  const items = [...list.children]
  const next = items[items.findIndex((each) => each.classList.contains('now')) + by]
  if (next === undefined) return
  for (const each of items) each.classList.toggle('now', each === next)
  next.scrollIntoView({ block: 'nearest' })
}

/** As a script, not by `fetch`: a page on a disk may load scripts only. */
function load(base: URL): Promise<readonly Section[]> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = new URL('assets/sections.js', base).href
    script.addEventListener('load', () => resolve((globalThis as unknown as { sections: Section[] }).sections))
    script.addEventListener('error', () => reject(new Error('the sections of the search did not load')))
    document.head.append(script)
  })
}

function note(text: string): HTMLLIElement {
  const made = document.createElement('li')
  made.className = 'note'
  made.textContent = text
  return made
}

function item(hit: Hit, base: URL, now: boolean): HTMLLIElement {
  const made = document.createElement('li')
  made.classList.toggle('now', now)
  const link = document.createElement('a')
  link.href = new URL(hit.url, base).href
  const where = document.createElement('small')
  where.textContent = hit.title === hit.page ? hit.door : `${hit.door} › ${hit.page}`
  const title = document.createElement('b')
  title.append(...marked(hit.title, hit.terms))
  const text = document.createElement('span')
  text.append(...marked(excerpt(hit), hit.terms))
  link.append(where, title, text)
  made.append(link)
  return made
}

/** The words around the first that matched. */
function excerpt({ text, terms }: Hit): string {
  const first = words(text).find((word) => terms.includes(stem(word)))
  const at = first === undefined ? 0 : Math.max(0, text.indexOf(first) - 50)
  const from = at === 0 ? 0 : text.indexOf(' ', at) + 1
  return `${from > 0 ? '…' : ''}${text.slice(from, from + EXCERPT)}${text.length > from + EXCERPT ? '…' : ''}`
}

function marked(text: string, terms: readonly string[]): Node[] {
  // A Chinese sentence is one piece, so only the words in it that matched are marked.
  const chinese = terms.filter((term) => /^\p{Script=Han}+$/u.test(term))
  const pieces = text
    .split(/([\p{L}\p{N}_]+)/u)
    .flatMap((piece) => (chinese.length === 0 ? [piece] : piece.split(new RegExp(`(${chinese.join('|')})`, 'u'))))
  return pieces.map((piece) => {
    if (!words(piece).some((word) => terms.includes(stem(word)))) return document.createTextNode(piece)
    const made = document.createElement('mark')
    made.textContent = piece
    return made
  })
}
