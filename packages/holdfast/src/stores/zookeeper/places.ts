/** One place of this process: its node, the session by which it lives, and what is watched for it. */
import type { Entry } from '../../contract/driver.ts'
import type { WatchCallback } from '../../clients/zookeeper/index.ts'

/**
 * `entering`: the create is under way. `unknown`: it got no answer, so the node may exist. `standing`: the node is
 * ours. `leaving`: it is given up, and not yet known to be gone. `gone`: for good.
 */
type StandingState = 'entering' | 'unknown' | 'standing' | 'leaving' | 'gone'

export class OwnPlace {
  readonly entry: Entry
  readonly linePath: string
  state: StandingState = 'entering'
  /** Settles, never rejects, when the present request to enter has ended. */
  pending: Promise<unknown> | null = null
  /** The node; '' until it is known. */
  path = ''
  token = 0n
  sessionId = 0n
  /** When the place lapses, because this process has not renewed it. */
  lapsesAt = 0
  granted = false
  /** True: another place may stand behind it. */
  wanted = false
  /** True: the last look found exactly one place ahead. */
  behindSingle = false
  /** True: the watch on a place ahead has just fired. */
  woken = false
  /** True: that event said that nobody is ahead any more. */
  isTurn = false
  /** Whether the place was visited already. */
  isVisited = false
  /** Whether a visit is planned. */
  expected = false
  /** Marked by `break`: it is not renewed any more. */
  broken = false
  /** The weight of its latest turn, and whether the store has it. */
  weight: number
  turn = 0
  isWeighed = true
  /** Settles, never rejects, when no request about its weight is under way. */
  weighing: Promise<unknown> = Promise.resolve()
  /** True: its node's data have changed since they were last read. */
  dirty = false
  /** The watch on its own node. */
  ownWatch: WatchCallback | null = null
  /** The watch for word beside the line to give it up. */
  breakWatch: WatchCallback | null = null
  /** The watches on places ahead, by path. */
  readonly blocking: Map<string, WatchCallback> = new Map()
  /** Fires when its lease may have run out. */
  timer: NodeJS.Timeout | null = null

  constructor(entry: Entry, linePath: string) {
    this.entry = entry
    this.weight = entry.weight
    this.linePath = linePath
  }

  clearTimer(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }
}
