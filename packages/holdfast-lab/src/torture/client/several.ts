/** Asks for several lines as one, and now and then gives up half-way: then it must hold nothing. */
import type { Several } from '../generator/errand.ts'
import type { Visitor } from './visitor.ts'

export async function runSeveral(visitor: Visitor, errand: Several): Promise<void> {
  const { lines, waitMs, stayMs, abortMs } = errand
  const { client, stop } = visitor
  const giveUp = new AbortController()
  const timer = abortMs === null ? undefined : setTimeout(() => giveUp.abort(), abortMs)
  const signal = AbortSignal.any([stop, giveUp.signal])
  const visits = lines.map((line) =>
    visitor.ask({ line, exclusive: true, weight: line.capacity, waitMs, errand: 'several' }),
  )
  const claims = await visitor.allAnswered(
    visits,
    () => client.several?.(lines, { waitMs, signal }) ?? Promise.resolve(null),
    // Nothing runs between an answer and this look but what the answer has set going: who had given up, had done so
    // before.
    () => giveUp.signal.aborted,
  )
  clearTimeout(timer)
  if (claims === null) return
  await Promise.all(
    lines.map(async (line, at) => {
      const [i, claim] = [visits[at], claims[at]]
      if (i !== undefined && claim !== undefined) await visitor.enjoy(i, { line, exclusive: true, stayMs }, claim)
    }),
  )
}
