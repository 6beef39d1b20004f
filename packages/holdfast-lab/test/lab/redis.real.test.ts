/** Exhibits on one Redis server. */
import { exhibitTests } from './rig.ts'

exhibitTests({
  'setnx-expire': [
    ['recipe', 'harm', 1],
    ['holdfast', 'impossible', 0],
  ],
  'losers-refresh': [
    ['recipe', 'harm'],
    ['holdfast', 'impossible', 0],
  ],
  'get-then-del': [
    ['recipe', 'harm', 2],
    ['holdfast', 'impossible', 1],
  ],
  'flash-sale': [
    ['recipe', 'harm', 5],
    ['holdfast', 'exposed', 1],
    ['holdfast', 'caught', 0],
  ],
  stock: [
    ['recipe', 'harm', 1],
    ['remedy', 'no harm', 0],
    ['remedy', 'no harm', 0],
    ['holdfast', 'caught', 0],
  ],
  getset: [
    ['recipe', 'harm', 4_000],
    ['recipe', 'harm', 2],
    ['holdfast', 'impossible', 1],
  ],
  'herd-redis': [
    ['recipe', 'harm'],
    ['holdfast', 'impossible'],
  ],
  'long-job': [
    ['recipe', 'harm', 2],
    ['remedy', 'no harm', 1],
    ['holdfast', 'impossible', 1],
    ['holdfast', 'caught', 1],
    ['holdfast', 'exposed', 1],
    ['holdfast', 'caught', 0],
  ],
})
