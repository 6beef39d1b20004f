/**
 * Names of locks are as many as there are orders and users; a metric that carries them would have as many series. So
 * locks are measured in groups: what is counted in a name becomes `*`.
 */
import { checkFunction, checkWhole } from '../contract/check.ts'

/** How names of locks become groups. */
export interface GroupOptions {
  /**
   * The group that a lock, a job or a fenced resource is measured in. Default: UUIDs, long hexadecimal ids and digits
   * become `*`, so `order:4711` is in `order:*`. What it throws goes into the group `other`.
   */
  readonly groupOf?: (name: string) => string
  /** How many groups there are at most: later ones are measured together, as `other`. Default 100; 1 to 10 000. */
  readonly groupsMax?: number
}

export const GROUP_KEYS: readonly string[] = ['groupOf', 'groupsMax']

const GROUPS_MAX = 100
const GROUP_LENGTH_MAX = 128
const OTHER = 'other'
const IDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?=[a-f]*\d)[0-9a-f]{16,}\b|\d+/gi

/** Digits, UUIDs and long hexadecimal ids become `*`. */
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
      // A metric that is named wrongly is worth less than the lock that it measures.
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
