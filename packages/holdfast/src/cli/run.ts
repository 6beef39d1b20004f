/** `holdfast run`: runs a program while holding a lock. */
import type { Given } from './args.ts'
import { acquire } from './claim.ts'
import { Guard } from './guard.ts'
import { complain } from './output.ts'
import { readPlan } from './plan.ts'
import { Stage } from './stage.ts'
import { supervise } from './supervise.ts'

export { help, syntax } from './plan.ts'

export function execute(given: Given): Promise<number> {
  const plan = readPlan(given)
  return Stage.use(plan, async (stage) => {
    // Start the guardian while we wait for the lock: then it is ready when the lock is there.
    const guard = new Guard()
    try {
      const hf = await stage.open()
      const { waitMs, name, claim } = plan
      const held = await stage.wait((signal) => acquire(hf, name, claim, { waitMs, signal }))
      const end = await supervise(plan, held, guard, stage)
      if (end.why !== null) complain(`${end.why}; ${end.fate}`)
      return end.exit
    } finally {
      guard.dismiss()
    }
  })
}
