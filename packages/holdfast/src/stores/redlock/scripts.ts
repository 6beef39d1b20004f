/** The scripts behind the steps. */
import { type Script, script } from '../redis/wire/script.ts'
import {
  ACCEPT,
  BREAK,
  DISOWN,
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
  break: script(BREAK),
  disown: script(DISOWN),
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
