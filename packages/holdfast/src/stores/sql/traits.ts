/** What both SQL stores promise. */
import type { Traits } from '../../contract/driver.ts'

const SAFETY =
  'Holds while one primary keeps its data: asynchronous commit or replication can lose acknowledged grants in a ' +
  "failover, and a step of the server's clock lapses or prolongs leases."

/** `isTold`: waiters are told that they are granted; else they are polled for, and only hinted at. */
export function sqlTraits(isTold: boolean): Traits {
  return Object.freeze({
    fair: true,
    fenced: true,
    counting: true,
    push: isTold ? 'answer' : 'hint',
    ttlMsMin: 10,
    lingers: true,
    scope: 'network',
    safety: SAFETY,
  })
}
