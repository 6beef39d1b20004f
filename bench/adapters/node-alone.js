/** What a start of Node costs by itself: `node -e 0`. */
import { noLock } from './no-lock.js'

/** @type {import('../adapter.ts').Adapter} */
export const nodeAlone = { name: 'node-alone', store: '*', role: 'raw', only: ['start'], open: noLock }
