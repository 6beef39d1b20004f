/** The whole page: what is said of the store, the numbers, and below them the list or one lock. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Activity } from './activity.tsx'
import { tryToken } from './feed.ts'
import { LockPage } from './lock-page.tsx'
import { Locks } from './locks.tsx'
import { model, nowMs, useModel, useTick } from './model.ts'
import { useRoute } from './route.ts'
import { clock, plain, span } from './text.tsx'
import { type Theme, ThemeButton } from './theme.tsx'

export function App({ theme }: { readonly theme: Theme }): JSX.Element {
  const version = useModel()
  const route = useRoute()
  const [tab, setTab] = useState<'locks' | 'activity'>('locks')
  useEffect(() => {
    document.title = route === null ? 'Locks · Holdfast' : `${plain(route)} · Holdfast`
  }, [route])
  return (
    <div class="app">
      <TopBar theme={theme} />
      <Banner />
      {model.link === 'locked' ? (
        <TokenForm />
      ) : route !== null ? (
        <LockPage key={route} name={route} version={version} />
      ) : (
        <main class="overview" data-tab={tab}>
          <h1 class="sr">Locks</h1>
          <Figures version={version} />
          <div class="tabs">
            {(['locks', 'activity'] as const).map((name) => (
              <button key={name} type="button" aria-pressed={tab === name} onClick={() => setTab(name)}>
                {name === 'locks' ? 'Locks' : 'Activity'}
              </button>
            ))}
          </div>
          <div class="split">
            <Locks version={version} />
            <Activity version={version} />
          </div>
        </main>
      )}
    </div>
  )
}

function TopBar({ theme }: { readonly theme: Theme }): JSX.Element {
  const { head, link } = model
  const state = link !== 'live' ? 'away' : (head?.store.state ?? 'starting')
  const words: Record<string, string> = {
    away: link === 'connecting' ? 'Connecting' : 'Console away',
    starting: 'First look',
    up: `Live · every ${span(head?.everyMs ?? 0)}`,
    down: 'Store out of reach',
  }
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Holdfast, all locks">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <circle cx="10" cy="10" r="8.2" />
          <path d="M10 5.2v9.6M6.4 8.4h7.2" />
        </svg>
        Holdfast
      </a>
      <span class="store mono" title={head?.store.url}>
        {plain(head?.store.url ?? '')}
      </span>
      <span class={`pill ${state}`} role="status">
        {words[state]}
      </span>
      {head?.allowBreak === true ? <span class="pill warn wide">Breaking allowed</span> : null}
      <ThemeButton theme={theme} />
    </header>
  )
}

function Banner(): JSX.Element {
  useTick()
  const { head, link } = model
  const isDown = head?.store.state === 'down'
  const seen = model.points.at(-1)?.atMs
  const stale = seen === undefined ? '' : ` What is shown was seen at ${clock(seen)}.`
  const text =
    link === 'gone'
      ? `The console does not answer.${stale} It is asked again every second.`
      : isDown
        ? `The store is out of reach for ${span(nowMs() - (head?.store.sinceMs ?? 0))}.${stale} ` +
          plain(head?.error ?? '')
        : ''
  return (
    <div class="banner" role="alert" hidden={text === ''}>
      {text}
    </div>
  )
}

function TokenForm(): JSX.Element {
  const [token, setToken] = useState('')
  return (
    <main class="token-form">
      <h1>This console asks for its token</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          tryToken(token)
        }}
      >
        <label class="stack">
          Token
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Show the locks</button>
      </form>
    </main>
  )
}

function Figures({ version }: { readonly version: number }): JSX.Element {
  useTick()
  const sums = useMemo(() => {
    let oldestMs = Number.POSITIVE_INFINITY
    let contended = 0
    let held = 0
    for (const row of model.rows.values()) {
      if (row.oldestMs !== null) oldestMs = Math.min(oldestMs, row.oldestMs)
      if (row.waiting > 0) contended++
      held += row.held
    }
    const losses = model.points.reduce((sum, point) => sum + point.losses, 0)
    return { oldestMs, contended, held, losses, waiting: model.points.at(-1)?.waiting ?? 0 }
  }, [version])
  const longest = Number.isFinite(sums.oldestMs) ? span(nowMs() - sums.oldestMs) : '–'
  const figures: readonly (readonly [string, string, string])[] = [
    [model.rows.size.toLocaleString('en'), 'Locks', ''],
    [sums.held.toLocaleString('en'), 'Holders', ''],
    [sums.waiting.toLocaleString('en'), 'Waiting', sums.waiting > 0 ? 'warn' : ''],
    [sums.contended.toLocaleString('en'), 'Contended', ''],
    [longest, 'Longest wait', sums.oldestMs < nowMs() - 30_000 ? 'warn' : ''],
    [sums.losses.toLocaleString('en'), 'Losses', sums.losses > 0 ? 'bad' : ''],
  ]
  return (
    <dl class="figures">
      {figures.map(([value, title, tone]) => (
        <div key={title} class={tone}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
