/** What the driver needs of a Redis, whoever carries the bytes: our own connection, the user's client, or a cluster. */
import type { Argument } from '../../clients/redis/encode.ts'
import type { Script } from '../../clients/redis/script.ts'

/** How many replicas must have confirmed a write, and how long they may take. */
export interface ReplicaWait {
  readonly replicas: number
  readonly timeoutMs: number
}

/** A reply with how many replicas confirmed the write behind it. */
export interface Confirmed {
  readonly reply: unknown
  readonly replicas: number
}

export interface Transport {
  /** Where it leads, for people; without secrets. */
  readonly where: string
  /** Put by the client itself before every key: the scripts see it, so channels carry it, too. */
  readonly keyPrefix: string
  /** Whether one call may touch keys of several lines. Not on a cluster. */
  readonly joins: boolean
  /** Set by the driver: messages may have been missed. */
  onGap: () => void
  /** Connects; rejects when the server refuses, or does not answer in time. */
  open(): Promise<void>
  /** Runs a script by its name; a server that does not know it gets its text. Text in the reply as strings. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>
  /** The same, then WAIT on the same connection. */
  runAndWait(script: Script, keys: readonly string[], args: readonly Argument[], wait: ReplicaWait): Promise<Confirmed>
  /** One command to every primary; the replies in some order. */
  askAll(args: readonly Argument[]): Promise<readonly unknown[]>
  /** The keys that match, of every primary; some may come twice. */
  scan(pattern: string): AsyncIterable<readonly string[]>
  /** Resolves when the server has confirmed; lasts over reconnects. */
  subscribe(channel: string, onMessage: (message: string) => void): Promise<void>
  unsubscribe(channel: string): Promise<void>
  /** The server has become a replica: connect anew, where somebody else may answer by now. */
  reconnect(): void
  /** Lets go of what it made itself. Idempotent. */
  close(): Promise<void>
}
