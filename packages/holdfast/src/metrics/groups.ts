/**
 * There are as many names of locks as orders and users, so a metric with names would have as many series. So metrics
 * measure locks in groups: what counts up inside a name becomes `*`.
 */
import { checkFunction, checkWhole } from '../contract/check.ts'

/** How names of locks become groups. */
export interface GroupOptions {
  /**
   * Returns the group of a lock, a job or a fenced resource. Default: UUIDs, long hexadecimal ids and digits become
   * `*`, so `order:4711` is in `order:*`. If it throws, the group is `other`.
   */
  readonly groupOf?: (name: string) => string
  /** The most groups there may be: later ones are measured together, as `other`. Default 100; 1 to 10 000. */
  readonly groupsMax?: number
}

export const GROUP_KEYS: readonly string[] = ['groupOf', 'groupsMax']

const GROUPS_MAX = 100
const GROUP_LENGTH_MAX = 128
const OTHER = 'other'
const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?=[a-f]*\d)[0-9a-f]{16,}\b|\d+/gi

/** Replaces digits, UUIDs and long hexadecimal ids by `*`. */
export function defaultGroup(name: string): string {
  return name.replace(IDS, '*')
}

export class Groups {
  readonly #groupOf: (name: string) => string
  readonly #groupsMax: number
  readonly #groups = new Set<string>()

  constructor({ groupOf, groupsMax }: GroupOptions) {
    this.#groupOf = groupOf === undefined ? defaultGroup : checkFunction('groupOf', groupOf)
    this.#groupsMax = groupsMax === undefined ? GROUPS_MAX : checkWhole('groupsMax', groupsMax, 1, 10_000)
  }

  of(name: string): string {
    return this.#admit(this.#make(name))
  }

  #make(name: string): string {
    try {
      return this.#groupOf(name).slice(0, GROUP_LENGTH_MAX)
    } catch {
      // A wrong name for a metric must not harm the lock that is measured.
      return OTHER
    }
  }

  #admit(group: string): string {
    if (this.#groups.has(group)) return group
    if (this.#groups.size >= this.#groupsMax) return OTHER
    this.#groups.add(group)
    return group
  }
}
