/** What is left of a lease: a bar that drains by itself until the next renewal is seen. */
import type { JSX } from 'preact'
import type { HolderParty } from '../src/wire.ts'
import { nowMs } from './model.ts'
import { span } from './text.tsx'

export function Lease({ holder }: { readonly holder: HolderParty }): JSX.Element {
  const { endMs, leaseMs, broken } = holder
  const leftMs = Math.max(0, endMs - nowMs())
  const text = leftMs === 0 ? 'over' : span(leftMs)
  return (
    <span class={broken ? 'lease broken' : 'lease'} title={broken ? 'broken: runs out and is not renewed' : undefined}>
      <span class="lease-track" aria-hidden="true">
        {/* Anew with every renewal: the browser drains the bar, and nothing is drawn by us meanwhile. */}
        <span
          key={`${holder.token} ${endMs}`}
          class="lease-fill"
          style={{ animationDuration: `${leaseMs}ms`, animationDelay: `-${Math.max(0, leaseMs - leftMs)}ms` }}
        />
      </span>
      <span class="lease-left">{text}</span>
    </span>
  )
}
