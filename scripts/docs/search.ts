/**
 * The search: the same code in the reader's browser and in the tests. It needs no server: a page loads the sections of
 * all pages and makes the index when the reader begins to type.
 */
import MiniSearch from 'minisearch'

/** A section of a page: a heading, and the words up to the next. */
export interface Section {
  readonly url: string
  /** The page's title. */
  readonly page: string
  /** The heading; before the first heading, the title of the page. */
  readonly title: string
  readonly text: string
  /** The text beside a hit: `How to`. */
  readonly door: string
  readonly weight: number
}

export interface Hit extends Section {
  readonly score: number
  /** The words of the page that matched, to be marked. */
  readonly terms: readonly string[]
}

const HAN = /\p{Script=Han}/u
/** Words that say how a question is asked, not what about. Numbers of milliseconds have `ms` in every name. */
const STOP = new Set(
  [
    'a an and any are as at be by can do does for from get had has have how i if in into is it its me my of on or our',
    'should so that the their them then there these they this to us use using was we what when where which who why',
    'will with you your ms s',
  ].flatMap((words) => words.split(' ')),
)
/** Words of a question for which our pages use another word. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  migrate: ['coming', 'moving'],
  migrating: ['coming', 'moving'],
  expire: ['lease', 'lapse', 'ttl'],
  expiry: ['lease', 'ttl'],
  ttl: ['lease'],
  duration: ['ttl'],
  watchdog: ['renew', 'heartbeat'],
  refresh: ['renew'],
  switch: ['coming', 'moving'],
  install: ['npm'],
  dashboard: ['grafana', 'console'],
  monitor: ['metrics', 'prometheus'],
  alarm: ['alert'],
  unlock: ['release'],
  concurrency: ['semaphore'],
  cjs: ['commonjs'],
  esm: ['modules'],
  bun: ['runtimes'],
  deno: ['runtimes'],
}

/**
 * Chinese has no spaces. Where words begin is a guess that differs from browser to browser, so every two signs in a row
 * are a word: 分布式锁 is 分布, 布式, 式锁.
 */
function pairs(run: string): string[] {
  const signs = Array.from(run)
  return signs.length === 1 ? signs : signs.slice(1).map((sign, i) => `${signs[i]}${sign}`)
}

/** `ttlMs` is found by `ttlms` and by `ttl`, `HF_LOST` by `hf_lost` and by `lost`; Chinese by every two signs. */
export function words(text: string): string[] {
  const found: string[] = []
  for (const [run] of text.matchAll(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+/gu)) {
    if (HAN.test(run)) {
      found.push(...pairs(run))
      continue
    }
    found.push(run)
    const parts = run.split(/_|(?<=[a-z0-9])(?=[A-Z])/).filter((part) => part !== '')
    if (parts.length > 1) found.push(...parts)
  }
  return found
}

/** `locks` and `locking` as `lock`, `migrate` and `migration` as `migrat`: enough for English as we write it. */
export function stem(word: string): string {
  const low = word.toLowerCase()
  if (low.length < 4 || low.includes('_') || HAN.test(low)) return low
  const cut = low.replace(/(ations?|ating|ated?|ates)$/, 'at')
  if (cut !== low && cut.length > 3) return cut
  const short = low.replace(/(ies)$/, 'y').replace(/(ing|ed|es|s|e)$/, '')
  return short.length < 3 || low.endsWith('ss') ? low : short
}

const index = (term: string): string | null => (STOP.has(term.toLowerCase()) ? null : stem(term))

/** The words of a question: without stop words, with pairs as one word (`fails over` finds `failover`). */
function asked(question: string): string[] {
  const terms = words(question)
  const joined = terms.slice(1).map((word, i) => `${stem(terms[i] as string)}${word}`)
  const others = terms.flatMap((word) => SYNONYMS[word.toLowerCase()] ?? [])
  // The last word is the one that the reader is typing.
  return [...others, ...joined.filter((pair) => !HAN.test(pair)), ...terms]
}

export function searchOf(sections: readonly Section[]): (question: string, most?: number) => Hit[] {
  const mini = new MiniSearch<Section & { readonly id: number }>({
    fields: ['title', 'page', 'text'],
    tokenize: words,
    processTerm: index,
  })
  mini.addAll(sections.map((section, id) => ({ id, ...section })))
  return (question, most = 12) =>
    mini
      .search(question, {
        tokenize: asked,
        boost: { title: 4, page: 4.5 },
        boostDocument: (id) => (sections[id as number] as Section).weight,
        // The reader may not have finished the last word.
        prefix: (term, i, terms) => i === terms.length - 1 || term.length > 4,
        fuzzy: (term) => (term.length > 5 && !HAN.test(term) ? 0.17 : false),
        weights: { prefix: 0.3, fuzzy: 0.15 },
        bm25: { k: 1.2, b: 0.5, d: 0.5 },
      })
      .slice(0, most)
      .map(({ id, score, match }) => ({ ...(sections[id as number] as Section), score, terms: Object.keys(match) }))
}
