/** `holdfast run`: runs a program while holding a lock. */
import type { Given } from './args.ts'
import { acquire } from './claim.ts'
import { EXIT } from './exit.ts'
import { Guard } from './guard.ts'
import { complain } from './output.ts'
import { readPlan } from './plan.ts'
import { Stage } from './stage.ts'
import { supervise } from './supervise.ts'

export { help, syntax } from './plan.ts'

export function execute(given: Given): Promise<number> {
  const plan = readPlan(given)
  return Stage.use(plan, async (stage) => {
    // Started while the lock is waited for: it is ready when the lock is there.
    const guard = new Guard()
    try {
      const hf = await stage.open()
      const { waitMs, name, claim } = plan
      const held = await acquire(hf, name, claim, { waitMs, signal: stage.signals.interrupt })
      const end = await supervise(plan, held, guard, stage)
      if (end.loss === null) return end.exit
      complain(`${end.loss}; ${end.fate}`)
      return EXIT.lost
    } finally {
      guard.dismiss()
    }
  })
}
