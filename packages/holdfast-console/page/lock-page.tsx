/** Everything about one lock: holders, timeline, the queue in order, what happened. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Detail, HolderParty, Party } from '../src/wire.ts'
import { Events } from './activity.tsx'
import { BreakDialog } from './break-dialog.tsx'
import { authorized } from './feed.ts'
import { Lease } from './lease.tsx'
import { kindText } from './locks.tsx'
import { model, nowMs, useTick } from './model.ts'
import { goHome } from './route.ts'
import { count, Name, span } from './text.tsx'
import { Timeline } from './timeline.tsx'
import { Virtual } from './virtual.tsx'

const QUEUE_ROW_PX = 34
const QUEUE_ROWS = 14

export function LockPage({ name, version }: { readonly name: string; readonly version: number }): JSX.Element {
  useTick()
  const detail = useDetail(name, version)
  const [isBreaking, setBreaking] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // Whoever comes by keyboard or listens to the page is at its beginning.
    heading.current?.focus()
    const typed = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) goHome()
    }
    addEventListener('keydown', typed)
    return () => removeEventListener('keydown', typed)
  }, [name])
  const { holders = [], waiters = [], spans = [], events = [], row = null } = detail ?? {}
  return (
    <main class="lock-page">
      <nav>
        <a href="#/">← All locks</a>
      </nav>
      <header>
        <h1 ref={heading} tabIndex={-1}>
          <Name text={name} />
        </h1>
        <p>
          {row === null ? (detail === null ? 'Looking …' : 'Nobody holds it, nobody waits.') : kindText(row)}
          {row === null ? '' : ` · ${count(row.held, 'holder')} · ${count(row.waiting, 'waiter')}`}
          {row === null || row.handovers === 0 ? '' : ` · ${count(row.handovers, 'hand-over')} seen`}
        </p>
        {model.head?.allowBreak === true && holders.length > 0 ? (
          <button type="button" class="danger" onClick={() => setBreaking(true)}>
            Break …
          </button>
        ) : null}
      </header>
      <section class="panel">
        <h2>Who held it</h2>
        <Timeline spans={spans} />
      </section>
      <div class="columns">
        <div>
          <Holders holders={holders} />
          <Queue waiters={waiters} />
        </div>
        <section class="panel">
          <h2>What happened</h2>
          <Events events={events} isOne />
        </section>
      </div>
      {isBreaking ? (
        <BreakDialog name={name} holders={holders} waiting={waiters.length} close={() => setBreaking(false)} />
      ) : null}
    </main>
  )
}

function useDetail(name: string, version: number): Detail | null {
  const [detail, set] = useState<{ readonly of: string; readonly detail: Detail } | null>(null)
  useEffect(() => {
    const over = new AbortController()
    const ask = async (): Promise<void> => {
      const url = `./api/lock?name=${encodeURIComponent(name)}`
      const answer = await fetch(url, { headers: authorized(), signal: over.signal, cache: 'no-store' })
      if (answer.ok) set({ of: name, detail: (await answer.json()) as Detail })
    }
    ask().catch(() => {
      // The console is away: the stream says so, and the next message asks again.
    })
    return () => over.abort()
  }, [name, version])
  return detail?.of === name ? detail.detail : null
}

function Holders({ holders }: { readonly holders: readonly HolderParty[] }): JSX.Element {
  return (
    <section class="panel">
      <h2>{holders.length > 1 ? `${holders.length} holders` : 'Holder'}</h2>
      {holders.length === 0 ? <p class="muted small">Nobody.</p> : null}
      <ul class="list holders">
        {holders.slice(0, 100).map((holder) => (
          <li key={holder.token}>
            <div class="holder-name">
              <Name text={holder.label === '' ? `${holder.host}:${holder.pid}` : holder.label} />
              {holder.broken ? <span class="tag bad">broken, runs out</span> : null}
            </div>
            <dl>
              <div>
                <dt>Host</dt>
                <dd>
                  <Name text={holder.host === '' ? '?' : holder.host} />
                </dd>
              </div>
              <div>
                <dt>Pid</dt>
                <dd class="num">{holder.pid === 0 ? '?' : holder.pid}</dd>
              </div>
              <div>
                <dt>{holder.gotMs === undefined ? 'Asked' : 'Holds for'}</dt>
                <dd class="num">{span(nowMs() - (holder.gotMs ?? holder.askedMs))}</dd>
              </div>
              <div>
                <dt>Token</dt>
                <dd class="mono">{holder.token}</dd>
              </div>
              {holder.value === undefined || holder.value === '' ? null : (
                <div>
                  <dt>Value</dt>
                  <dd>
                    <Name text={holder.value} />
                  </dd>
                </div>
              )}
            </dl>
            <Lease holder={holder} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Queue({ waiters }: { readonly waiters: readonly Party[] }): JSX.Element {
  const [active, setActive] = useState(-1)
  return (
    <section class="panel">
      <h2>Queue{waiters.length === 0 ? '' : ` · ${waiters.length.toLocaleString('en')} in order`}</h2>
      {waiters.length === 0 ? (
        <p class="muted small">Nobody waits.</p>
      ) : (
        <Virtual
          count={waiters.length}
          rowHeight={QUEUE_ROW_PX}
          active={active}
          onActive={setActive}
          props={{
            class: 'grid queue',
            style: { height: `${Math.min(QUEUE_ROWS, waiters.length) * QUEUE_ROW_PX}px` },
            role: 'grid',
            'aria-label': 'Waiters, in the order of the queue',
            'aria-rowcount': waiters.length,
            ...(waiters[active] === undefined ? {} : { 'aria-activedescendant': `waiter-${active}` }),
          }}
          render={(i, style) => {
            const waiter = waiters[i] as Party
            return (
              <div
                key={waiter.token}
                id={`waiter-${i}`}
                role="row"
                aria-rowindex={i + 1}
                aria-selected={i === active}
                class={i === active ? 'row active' : 'row'}
                style={style}
              >
                <span role="gridcell" class="num muted">
                  {i + 1}
                </span>
                <span role="gridcell">
                  <Name text={waiter.label === '' ? `${waiter.host}:${waiter.pid}` : waiter.label} />
                </span>
                <span role="gridcell" class="muted">
                  {waiter.label === '' ? '' : <Name text={`${waiter.host}:${waiter.pid}`} />}
                </span>
                <span role="gridcell" class="num">
                  {span(nowMs() - waiter.askedMs)}
                </span>
              </div>
            )
          }}
        />
      )}
    </section>
  )
}
