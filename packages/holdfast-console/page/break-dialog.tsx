/** Asks how to break a lock, and for the token: the safe way is offered first, the other one only on demand. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { BreakOrder, HolderParty } from '../src/wire.ts'
import { nowMs } from './model.ts'
import { count, Name, span } from './text.tsx'

export function BreakDialog(props: {
  readonly name: string
  readonly holders: readonly HolderParty[]
  readonly waiting: number
  readonly close: () => void
}): JSX.Element {
  const { name, waiting, close } = props
  const dialog = useRef<HTMLDialogElement>(null)
  // Those that were shown when the person began to decide.
  const [holders] = useState(props.holders)
  const [now, setNow] = useState(false)
  const [isSure, setSure] = useState(false)
  const [token, setToken] = useState('')
  const [said, setSaid] = useState<{ readonly ok: boolean; readonly text: string } | null>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const leftMs = Math.max(0, ...holders.map(({ endMs }) => endMs - nowMs()))
  const next = waiting === 0 ? 'whoever comes next' : `the first of ${count(waiting, 'waiter')}`

  const send = async (): Promise<void> => {
    const order: BreakOrder = { name, now, tokens: holders.map((holder) => holder.token) }
    const answer = await fetch('./api/break', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(order),
    })
    const { broken, error } = (await answer.json()) as { broken?: number; error?: string }
    if (answer.ok) setSaid({ ok: true, text: `Taken from ${count(broken ?? 0, 'holder')}.` })
    else setSaid({ ok: false, text: error ?? 'It failed.' })
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="break-title">
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          send().catch(() => setSaid({ ok: false, text: 'The console does not answer.' }))
        }}
      >
        <h2 id="break-title">
          Break <Name text={name} />
        </h2>
        <p class="muted">
          Held by{' '}
          {holders.map(({ label, host, pid, token: held }, i) => (
            <span key={held}>
              {i === 0 ? '' : ', '}
              <Name text={label === '' ? `${host}:${pid}` : `${label} (${host}:${pid})`} />
            </span>
          ))}
        </p>
        <label class="choice">
          <input type="radio" name="how" checked={!now} onChange={() => setNow(false)} />
          <span>
            <b>Let the lease run out</b>
            <small>
              The holder can't renew any more. Serves {next} in {span(leftMs)} at most. No two act at the same time.
            </small>
          </span>
        </label>
        <details>
          <summary>The holder is known to be dead</summary>
          <label class="choice">
            <input type="radio" name="how" checked={now} onChange={() => setNow(true)} />
            <span>
              <b>Break now</b>
              <small>Serves {next} at once. If the old holder still acts, two act at the same time.</small>
            </span>
          </label>
          <label class="check">
            <input type="checkbox" checked={isSure} onChange={(event) => setSure(event.currentTarget.checked)} />I have
            made sure that the holder is dead
          </label>
        </details>
        <label class="stack">
          Token <small>The console printed it at its start.</small>
          <input
            type="password"
            autocomplete="off"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <p role="alert" class={said?.ok === false ? 'said bad' : 'said good'}>
          {said?.text ?? ''}
        </p>
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {said?.ok === true ? 'Close' : 'Cancel'}
          </button>
          <button type="submit" class="danger solid" disabled={said?.ok === true || (now && !isSure)}>
            {now ? 'Break now' : 'Break'}
          </button>
        </div>
      </form>
    </dialog>
  )
}
