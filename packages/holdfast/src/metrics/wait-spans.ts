/**
 * Makes a span for each wait. Its parent is the span that asked for the lock; its attributes name who stood in the way.
 */
import { type Context, context, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type { PlaceView } from '../contract/driver.ts'
import type { WaitingEvent } from '../contract/events.ts'
import type { Groups } from './groups.ts'
import { hear } from './measure.ts'

interface Request {
  /** The context of the caller when it asked: the parent of the span. */
  readonly parent: Context
  readonly startedMs: number
  span: Span | null
  timer: NodeJS.Timeout | null
}

/** Begins to make spans. Call the result to stop, and to end the open spans. */
export function traceWaits(tracer: Tracer, groups: Groups, blockedByAfterMs: number): () => void {
  const requests = new Map<number, Request>()
  const begin = (request: Request, told: WaitingEvent): void => {
    const { lock, store, position, where } = told
    request.span = tracer.startSpan(
      `wait for lock ${groups.of(lock)}`,
      {
        kind: SpanKind.INTERNAL,
        startTime: request.startedMs,
        attributes: {
          'holdfast.lock': lock,
          'holdfast.store': store,
          'holdfast.position': position,
          'holdfast.where': where,
        },
      },
      request.parent,
    )
    const { span } = request
    if (blockedByAfterMs === Number.POSITIVE_INFINITY || !span.isRecording()) return
    request.timer = setTimeout(() => void name(request, span, told), blockedByAfterMs)
    request.timer.unref()
  }
  const name = async (request: Request, span: Span, told: WaitingEvent): Promise<void> => {
    try {
      const holders = await told.holders()
      // The wait has ended meanwhile, so whoever holds the lock now did not stand in its way.
      if (request.span === span) span.setAttributes(blockedBy(holders))
    } catch (error) {
      if (request.span === span) span.addEvent('holdfast.holders.unknown', { 'exception.message': String(error) })
    }
  }
  const end = (number: number, outcome: string, error?: unknown): void => {
    const request = requests.get(number)
    if (request === undefined) return
    requests.delete(number)
    if (request.timer !== null) clearTimeout(request.timer)
    const { span } = request
    request.span = null
    if (span === null) return
    span.setAttribute('holdfast.outcome', outcome)
    if (error instanceof Error) span.recordException(error)
    if (outcome === 'failed' || outcome === 'timed-out')
      span.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
    span.end(nowMs())
  }
  const stops = [
    hear('requested', ({ request }) =>
      requests.set(request, { parent: context.active(), startedMs: nowMs(), span: null, timer: null }),
    ),
    hear('waiting', (told) => {
      const request = requests.get(told.request)
      if (request?.span === null) begin(request, told)
    }),
    hear('acquired', ({ request }) => end(request, 'acquired')),
    hear('refused', ({ request }) => end(request, 'refused')),
    hear('timed-out', ({ request }) => end(request, 'timed-out')),
    hear('aborted', ({ request }) => end(request, 'aborted')),
    hear('failed', ({ request, error }) => end(request, 'failed', error)),
  ]
  return () => {
    for (const stop of stops.splice(0)) stop()
    for (const number of [...requests.keys()]) end(number, 'unknown')
  }
}

function blockedBy(holders: readonly PlaceView[]): Record<string, string | number> {
  const [first] = holders
  if (first === undefined) return { 'holdfast.blocked_by.count': 0 }
  return {
    'holdfast.blocked_by.count': holders.length,
    'holdfast.blocked_by.host': first.host,
    'holdfast.blocked_by.pid': first.pid,
    'holdfast.blocked_by.label': first.label,
    'holdfast.blocked_by.token': String(first.token),
    'holdfast.blocked_by.held_ms': Math.round(first.ageMs),
  }
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
