/** Runs an errand of any kind. */
import type { Errand, ErrandKind } from '../generator/errand.ts'
import { runReaders } from './readers.ts'
import { runSeveral } from './several.ts'
import { runUpgrade } from './upgrade.ts'
import type { Visitor } from './visitor.ts'

type Runners = { readonly [Kind in ErrandKind]: (visitor: Visitor, errand: Errand & { kind: Kind }) => Promise<void> }

const RUNNERS: Runners = {
  visit: (visitor, errand) => visitor.visit(errand),
  upgrade: runUpgrade,
  several: runSeveral,
  readers: runReaders,
}

export function run<Kind extends ErrandKind>(visitor: Visitor, errand: Errand & { kind: Kind }): Promise<void> {
  return RUNNERS[errand.kind](visitor, errand)
}
