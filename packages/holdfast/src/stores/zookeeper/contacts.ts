/**
 * What the leader is sure to know of a session. It ends a session by its own count, and a follower tells it only every
 * half tick whom it has heard: an answer by the leader, sent for at t, proves that the contacts before t - half a tick
 * have been told, and no later ones. A follower that is cut off right after that answer tells nothing more.
 */

/** Sessions are made of at least four ticks, so that half a tick is at most this part of them. */
const UNTOLD = 1 / 8
/**
 * How often there should be a contact: then the latest one that was told is never older than a quarter of a session.
 */
const CADENCE = 1 / 8
/** Contacts closer to each other than this are one, the first. */
const GRAIN = 1 / 64

/** The part of a session that is left as margin. */
const MARGIN = 1 / 4

export class Contacts {
  /** When contacts were sent that got an answer, rising. The first is known to the leader itself. */
  #sentAt: number[] = []

  /** A server took the session on, which the leader decides. */
  connected(sentAt: number): void {
    this.#sentAt = [sentAt]
  }

  /** A request sent then was answered, with the leader's part in it. */
  answered(sentAt: number, sessionMs: number): void {
    const sent = this.#sentAt
    if (sentAt - (sent.at(-1) ?? 0) >= sessionMs * GRAIN) sent.push(sentAt)
    while (sent.length > 1 && (sent[1] as number) <= sentAt - sessionMs * UNTOLD) sent.shift()
  }

  /** Until when the session lives for certain, by an answer of the leader to what was sent then. */
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

/** How much of a session may be believed in. */
export function believableMs(sessionMs: number): number {
  return Math.max(1, Math.floor(sessionMs * (1 - MARGIN)))
}

/** The session of which that much may be believed in. */
export function sessionMsFor(ttlMs: number): number {
  return Math.ceil(ttlMs / (1 - MARGIN))
}
