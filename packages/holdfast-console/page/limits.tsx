/** Limiters: what is left of each key, what was asked, and what was refused. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { LimiterView } from '../src/wire.ts'
import { nowMs } from './model.ts'
import { Name, span } from './text.tsx'

const SHOWN_MAX = 40
/** Fewer are seen at a glance. */
const FILTER_FROM = 6
/** Those that were looked at longer ago say so. */
const OLD_MS = 5_000

export function Limits({ limiters }: { readonly limiters: readonly LimiterView[] }): JSX.Element {
  const [begin, setBegin] = useState('')
  const found = limiters.filter(({ name, key }) => name.startsWith(begin) || key.startsWith(begin))
  return (
    <>
      {limiters.length < FILTER_FROM ? null : (
        <input
          type="search"
          class="limits-filter"
          placeholder="Begins with: limiter or key"
          aria-label="Limiters or keys that begin with"
          value={begin}
          onInput={(event) => setBegin(event.currentTarget.value)}
        />
      )}
      <ul class="list limits">
        {found.slice(0, SHOWN_MAX).map((limiter) => (
          <Limit key={`${limiter.limit}/${limiter.perMs}/${limiter.name} ${limiter.key}`} limiter={limiter} />
        ))}
      </ul>
      {found.length <= SHOWN_MAX ? null : <p class="muted small">{found.length - SHOWN_MAX} more</p>}
    </>
  )
}

function Limit({ limiter }: { readonly limiter: LimiterView }): JSX.Element {
  const { name, key, limit, perMs, burst, remaining, retryMs, shut, allowed, refused, atMs } = limiter
  const agoMs = nowMs() - atMs
  const asked = allowed + refused
  return (
    <li class="pair">
      <span>
        <Name text={name} /> <span class="muted">·</span> <Name text={key} />
        <small>
          {limit.toLocaleString('en')} in {span(perMs)}
          {asked === 0
            ? ''
            : ` · limiter: ${asked.toLocaleString('en')} asked, ${refused.toLocaleString('en')} refused`}
        </small>
      </span>
      <span class="end">
        {shut ? (
          <span class="tag bad">shut, {span(retryMs)}</span>
        ) : (
          <>
            <meter min={0} max={burst} low={burst / 5} value={remaining} aria-label={`${remaining} of ${burst} left`} />
            <small>
              {remaining.toLocaleString('en')} of {burst.toLocaleString('en')} left
              {agoMs > OLD_MS ? `, ${span(agoMs)} ago` : ''}
            </small>
          </>
        )}
      </span>
    </li>
  )
}
