/**
 * What the leader certainly knows of a session. The leader ends a session by its own count, and a follower reports only
 * every half tick whom it has heard. So an answer of the leader to a request of time t proves that contacts before t -
 * half a tick were reported, and no later ones. A follower that is cut off right after that answer reports nothing
 * more.
 */

/** Sessions have at least four ticks, so half a tick is at most this part of a session. */
const UNTOLD = 1 / 8
/** How often to make contact: then the latest reported contact is never older than a quarter of a session. */
const CADENCE = 1 / 8
/** Contacts closer to each other than this count as one, the first. */
const GRAIN = 1 / 64

/** The part of a session that is left as margin. */
const MARGIN = 1 / 4

export class Contacts {
  /** When answered contacts were sent, rising. The leader itself knows the first. */
  #sentAt: number[] = []

  /** A server accepted the session, which the leader decides. */
  connected(sentAt: number): void {
    this.#sentAt = [sentAt]
  }

  /** A request sent then was answered, with the leader's part in the answer. */
  answered(sentAt: number, sessionMs: number): void {
    const sent = this.#sentAt
    if (sentAt - (sent.at(-1) ?? 0) >= sessionMs * GRAIN) sent.push(sentAt)
    while (sent.length > 1 && (sent[1] as number) <= sentAt - sessionMs * UNTOLD) sent.shift()
  }

  /** Until when the session certainly lives, by an answer of the leader to a request of that time. */
  livesUntil(sentAt: number, sessionMs: number): number {
    const told = this.#sentAt.findLast((contact) => contact <= sentAt - sessionMs * UNTOLD) ?? this.#sentAt[0] ?? sentAt
    return Math.min(told, sentAt) + sessionMs
  }
}

export function cadenceMs(sessionMs: number): number {
  return Math.max(1, sessionMs * CADENCE)
}

/** Answers closer to each other than this tell the same. */
export function lateMs(sessionMs: number): number {
  return sessionMs * GRAIN
}

/** How much of a session a holder may trust. */
export function believableMs(sessionMs: number): number {
  return Math.max(1, Math.floor(sessionMs * (1 - MARGIN)))
}

/** The session of which a holder may trust that much. */
export function sessionMsFor(ttlMs: number): number {
  return Math.ceil(ttlMs / (1 - MARGIN))
}
