/**
 * What a voter needs of a connection to its server, whoever carries the bytes: ours, the user's client, or a
 * simulation.
 */
import type { Argument } from '../../clients/redis/encode.ts'

/** The steps that a server can be asked for: each is one script, see lua/. */
export type Step =
  | 'accept'
  | 'adopt'
  | 'break'
  | 'bury'
  | 'enter'
  | 'hello'
  | 'leave'
  | 'observe'
  | 'prepare'
  | 'quarantine'
  | 'touch'
  | 'view'
  | 'yield'

export interface WireEvents {
  /** Every new connection; before this, nothing is sent on it. */
  onUp(): void
  /** The connection is gone, and everything that was not sent yet is rejected. */
  onDown(error: Error): void
  /** Messages may have been missed. */
  onGap(): void
}

export interface Wire {
  /** Where it leads, for people; without secrets. */
  readonly where: string
  /** Put by the client itself before every key: channels carry it, too. */
  readonly keyPrefix: string
  /**
   * Whether it is our own connection: `onUp` is told of every new one, and messages come on it, behind the answers
   * given before them. If not, each script must ask the server which run of it this is.
   */
  readonly tells: boolean
  /** Begins to connect, and to stay connected. */
  open(events: WireEvents): void
  run(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<unknown>
  /** The keys that match; some may come twice. */
  scan(pattern: string): AsyncIterable<readonly string[]>
  /** Resolves when the server has confirmed; lasts over reconnects. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
  close(): Promise<void>
}
