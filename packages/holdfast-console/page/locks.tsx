/** The list of locks: search, filter, sort, and a row for each. */
import type { CSSProperties, JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Row } from '../src/wire.ts'
import { Lease } from './lease.tsx'
import { model, nowMs, useTick } from './model.ts'
import { FIRST_VIEW, prefixes, type SortKey, type View, visible } from './order.ts'
import { linkTo } from './route.ts'
import { count, Name, plain, span } from './text.tsx'
import { Virtual } from './virtual.tsx'

const COLUMNS: readonly (readonly [key: SortKey, title: string, className: string])[] = [
  ['name', 'Lock', 'c-name'],
  ['waiting', 'Waiting', 'c-wait'],
  ['holder', 'Held by', 'c-holder'],
  ['held', 'For', 'c-held'],
  ['lease', 'Lease left', 'c-lease'],
  ['token', 'Token', 'c-token'],
  ['handovers', 'Hand-overs', 'c-hand'],
]

const ROW_PX = 46
const PHONE_ROW_PX = 62
const phone = matchMedia('(max-width: 760px)')

/** Kept while the page of a lock is shown. */
let lastView = FIRST_VIEW
let lastActive = -1

export function Locks({ version }: { readonly version: number }): JSX.Element {
  useTick()
  const [view, setView] = useState(lastView)
  const [active, setActive] = useState(lastActive)
  const [rowHeight, setRowHeight] = useState(phone.matches ? PHONE_ROW_PX : ROW_PX)
  const search = useRef<HTMLInputElement>(null)
  lastView = view
  lastActive = active
  const rows = useMemo(() => visible(model.rows, view), [version, view])
  const starts = useMemo(() => prefixes(model.rows), [version])
  useEffect(() => {
    const resized = (): void => setRowHeight(phone.matches ? PHONE_ROW_PX : ROW_PX)
    phone.addEventListener('change', resized)
    const typed = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement) return
      event.preventDefault()
      search.current?.focus()
    }
    addEventListener('keydown', typed)
    return () => {
      phone.removeEventListener('change', resized)
      removeEventListener('keydown', typed)
    }
  }, [])
  const change = (part: Partial<View>): void => setView({ ...view, ...part })
  const open = (index: number): void => {
    const row = rows[index]
    if (row !== undefined) location.hash = linkTo(row.name)
  }
  return (
    <section class="locks" aria-label="Locks">
      <Toolbar view={view} change={change} search={search} starts={starts} shown={rows.length} />
      <Virtual
        count={rows.length}
        rowHeight={rowHeight}
        active={active}
        onActive={setActive}
        onOpen={open}
        header={<Heads view={view} change={change} />}
        props={{
          class: 'grid',
          role: 'grid',
          'aria-label': 'Locks, by contention. Arrow keys move, Enter opens.',
          'aria-rowcount': rows.length + 1,
          ...(rows[active] === undefined ? {} : { 'aria-activedescendant': `row-${active}` }),
        }}
        render={(i, style) => (
          <LockRow key={rows[i]?.name} row={rows[i] as Row} index={i} style={style} isActive={i === active} />
        )}
      />
      {rows.length === 0 ? <Empty view={view} clear={() => setView(FIRST_VIEW)} /> : null}
    </section>
  )
}

function Toolbar(props: {
  readonly view: View
  readonly change: (part: Partial<View>) => void
  readonly search: { current: HTMLInputElement | null }
  readonly starts: readonly { readonly prefix: string; readonly count: number }[]
  readonly shown: number
}): JSX.Element {
  const { view, change, search, starts, shown } = props
  return (
    <div class="toolbar">
      <label class="field grow">
        <span class="sr">Search locks and holders</span>
        <input
          ref={search}
          type="search"
          placeholder="Search locks, holders, hosts   /"
          value={view.search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
      </label>
      <label class="field">
        <span class="sr">Prefix</span>
        <select value={view.prefix} onChange={(event) => change({ prefix: event.currentTarget.value })}>
          <option value="">All prefixes</option>
          {starts.map(({ prefix, count: names }) => (
            <option key={prefix} value={prefix}>
              {plain(prefix)} ({names})
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={view.only === 'contended'}
          onChange={(event) => change({ only: event.currentTarget.checked ? 'contended' : 'all' })}
        />
        Contended only
      </label>
      <span class="shown" role="status">
        {count(shown, 'lock')}
      </span>
    </div>
  )
}

function Heads({ view, change }: { readonly view: View; readonly change: (part: Partial<View>) => void }): JSX.Element {
  return (
    <div role="row" class="row heads" aria-rowindex={1}>
      {COLUMNS.map(([key, title, className]) => (
        <span
          key={key}
          role="columnheader"
          class={className}
          aria-sort={view.sort === key ? (view.down ? 'descending' : 'ascending') : 'none'}
        >
          <button
            type="button"
            onClick={() => change(view.sort === key ? { down: !view.down } : { sort: key, down: key !== 'name' })}
          >
            {title}
            <span class="arrow" aria-hidden="true">
              {view.sort === key ? (view.down ? '↓' : '↑') : ''}
            </span>
          </button>
        </span>
      ))}
    </div>
  )
}

function LockRow(props: {
  readonly row: Row
  readonly index: number
  readonly style: CSSProperties
  readonly isActive: boolean
}): JSX.Element {
  const { row, index, style, isActive } = props
  const [first] = row.holders
  const since = first?.gotMs ?? first?.askedMs
  const longest = row.oldestMs === null ? 0 : nowMs() - row.oldestMs
  return (
    <div
      role="row"
      id={`row-${index}`}
      class={isActive ? 'row active' : 'row'}
      style={style}
      aria-rowindex={index + 2}
      aria-selected={isActive}
      onClick={() => {
        location.hash = linkTo(row.name)
      }}
    >
      <span role="gridcell" class="c-name">
        <a href={linkTo(row.name)} tabIndex={-1}>
          <Name text={row.name} />
        </a>
        <small>{kindText(row)}</small>
      </span>
      <span role="gridcell" class={row.waiting === 0 ? 'c-wait none' : 'c-wait'}>
        {row.waiting === 0 ? (
          <span class="sr">nobody</span>
        ) : (
          <>
            <b class={longest > 30_000 ? 'badge hot' : 'badge'}>{row.waiting.toLocaleString('en')}</b>
            <small>{span(longest)}</small>
          </>
        )}
      </span>
      <span role="gridcell" class="c-holder">
        {first === undefined ? (
          <span class="muted">free</span>
        ) : (
          <>
            <Name text={first.label === '' ? `${first.host}:${first.pid}` : first.label} />
            <small>
              {first.label === '' ? '' : <Name text={`${first.host}:${first.pid}`} />}
              {row.held > 1 ? ` +${row.held - 1} more` : ''}
            </small>
          </>
        )}
      </span>
      <span role="gridcell" class="c-held num">
        {since === undefined ? '' : span(nowMs() - since)}
      </span>
      <span role="gridcell" class="c-lease">
        {first === undefined ? '' : <Lease holder={first} />}
      </span>
      <span role="gridcell" class="c-token num mono" title={first?.token}>
        {first === undefined ? '' : `…${first.token.slice(-8)}`}
      </span>
      <span role="gridcell" class="c-hand num">
        {row.handovers === 0 ? '' : row.handovers.toLocaleString('en')}
      </span>
    </div>
  )
}

export function kindText({ kind, capacity, held }: Row): string {
  return kind === 'semaphore' ? `semaphore · ${held} of ${capacity}` : kind === 'read-write' ? 'read-write' : kind
}

function Empty({ view, clear }: { readonly view: View; readonly clear: () => void }): JSX.Element {
  const isFiltered = view.search !== '' || view.prefix !== '' || view.only !== 'all'
  if (!isFiltered) return <p class="empty">Nobody holds a lock, and nobody waits.</p>
  return (
    <p class="empty">
      No lock matches.{' '}
      <button type="button" class="link" onClick={clear}>
        Show all
      </button>
    </p>
  )
}
