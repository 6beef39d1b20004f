/** Exhibits on five independent Redis servers. */
import { exhibitTests } from './rig.ts'

exhibitTests({
  'redlock-clock': [
    ['recipe', 'harm', 2],
    ['holdfast', 'caught', 1],
  ],
  'redlock-restart': [
    ['recipe', 'harm', 2],
    ['holdfast', 'caught', 1],
  ],
  'redlock-split-votes': [
    ['recipe', 'harm', 1],
    ['holdfast', 'impossible', 0],
  ],
  'redlock-partition': [
    ['recipe', 'harm', 2],
    ['holdfast', 'exposed', 2],
  ],
})
