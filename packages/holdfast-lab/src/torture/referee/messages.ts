/**
 * What clients say to the referee, what it answers, and what it tells the conductor. One JSON object a line over a
 * socket.
 */
import type { EffectEvent } from '../history/event.ts'

export type Say =
  | { readonly say: 'hello'; readonly p: string }
  | ({ readonly say: 'step'; readonly exclusive: boolean; readonly upgraded?: boolean } & Pick<
      EffectEvent,
      'i' | 'line' | 'what' | 'begun' | 'until' | 'token'
    >)
  /** The visit is over. There is no answer. */
  | { readonly say: 'leave'; readonly i: number; readonly line: string }

export interface Answer {
  readonly i: number
  readonly accepted: boolean
}

/** To the conductor: who is inside now, so that the nemesis can aim. */
export type Notice =
  | { readonly tell: 'listening' }
  | { readonly tell: 'entered' | 'left'; readonly line: string; readonly p: string }
  /** A holder that should have been alone has written what it had read before another acted. */
  | { readonly tell: 'crowded' }
