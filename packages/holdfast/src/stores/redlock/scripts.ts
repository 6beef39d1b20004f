/** The scripts behind the steps. */
import { type Script, script } from '../../clients/redis/script.ts'
import {
  ACCEPT,
  ADOPT,
  BREAK,
  BURY,
  ENTER,
  HELLO,
  LEAVE,
  OBSERVE,
  PREPARE,
  QUARANTINE,
  TOUCH,
  VIEW,
  YIELD,
} from './scripts.generated.ts'
import type { Step } from './wire.ts'

export const SCRIPTS: Readonly<Record<Step, Script>> = {
  accept: script(ACCEPT),
  adopt: script(ADOPT),
  break: script(BREAK),
  bury: script(BURY),
  enter: script(ENTER),
  hello: script(HELLO),
  leave: script(LEAVE),
  observe: script(OBSERVE),
  prepare: script(PREPARE),
  quarantine: script(QUARANTINE),
  touch: script(TOUCH),
  view: script(VIEW),
  yield: script(YIELD),
}
