/** Every scenario. A new one is a file here, a line below, and its bars in bars.js. */
import { contended } from './contended.js'
import { growth } from './growth.js'
import { herd } from './herd.js'
import { holds } from './holds.js'
import { idle } from './idle.js'
import { ids } from './ids.js'
import { kept } from './kept.js'
import { limiter } from './limiter.js'
import { readers } from './readers.js'
import { recovery } from './recovery.js'
import { start } from './start.js'
import { tasks } from './tasks.js'
import { uncontended } from './uncontended.js'

/** @type {readonly import('../scenario.ts').Scenario[]} */
export const scenarios = [
  uncontended,
  contended,
  herd,
  tasks,
  holds,
  kept,
  growth,
  readers,
  recovery,
  idle,
  limiter,
  ids,
  start,
]
