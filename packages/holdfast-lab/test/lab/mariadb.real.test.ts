/** Exhibits on a MariaDB server. */
import { exhibitTests } from './rig.ts'

exhibitTests({
  'lock-table': [
    ['recipe', 'harm', 1],
    ['holdfast', 'impossible', 0],
  ],
  version: [
    ['recipe', 'harm', 1],
    ['remedy', 'no harm', 0],
    ['holdfast', 'caught', 0],
  ],
})
