/** One place of this process: its node, the session it lives by, and what is watched for it. */
import type { Entry } from '../../contract/driver.ts'
import type { WatchCallback } from '../../clients/zookeeper/index.ts'

/**
 * `entering`: the create is under way. `unknown`: it got no answer, so the node may be there. `standing`: the node is
 * ours. `leaving`: it is given up, and not yet known to be gone. `gone`: for good.
 */
type StandingState = 'entering' | 'unknown' | 'standing' | 'leaving' | 'gone'

export class OwnPlace {
  readonly entry: Entry
  readonly linePath: string
  state: StandingState = 'entering'
  /** Settles, never rejects, when the request to enter that is under way has ended. */
  pending: Promise<unknown> | null = null
  /** The node; '' until it is known. */
  path = ''
  token = 0n
  sessionId = 0n
  /** Nobody renewed it until here: it lapses, by this process's own doing. */
  lapsesAt = 0
  granted = false
  /** Somebody may stand behind it. */
  wanted = false
  /** Exactly one stood in front of it when it was last looked at. */
  behindSingle = false
  /** The watch on one in front has just fired. */
  woken = false
  /** And it said that nobody is in front any more. */
  isTurn = false
  /** Whether somebody came by already. */
  isVisited = false
  /** Whether somebody will come by and see after it. */
  expected = false
  /** Marked by `break`: it is renewed no more. */
  broken = false
  /** What it is to weigh, by its latest turn, and whether the store has it so. */
  weight: number
  turn = 0
  isWeighed = true
  /** Settles, never rejects, when no request about its weight is under way. */
  weighing: Promise<unknown> = Promise.resolve()
  /** Its node's data have changed since they were last read. */
  dirty = false
  /** The watch on the own node. */
  ownWatch: WatchCallback | null = null
  /** The watch for word beside the line to give it up. */
  breakWatch: WatchCallback | null = null
  /** The watches on those in front, by path. */
  readonly blocking: Map<string, WatchCallback> = new Map()
  /** Rings when its lease may have run out. */
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
