/** Exhibits on a Redis primary with replicas and Sentinels. */
import { exhibitTests } from './rig.ts'

exhibitTests({
  failover: [
    ['recipe', 'harm', 2],
    ['holdfast', 'exposed', 1],
    ['holdfast', 'caught', 0],
    ['holdfast', 'caught', 1],
  ],
  'split-brain': [
    ['recipe', 'harm', 2],
    ['holdfast', 'exposed', 1],
    ['holdfast', 'caught', 0],
    ['holdfast', 'caught', 1],
  ],
})
