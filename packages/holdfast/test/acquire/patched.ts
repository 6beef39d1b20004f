/** Locks over a memory driver that a test can make answer otherwise, on a clock that the test moves. */
import type { Driver } from '../../src/contract/driver.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { type Holdfast, holdfast } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

/** The memory driver with some of its methods replaced. */
function patched(runtime: ManualRuntime, patch: (inner: Driver) => Partial<Driver>): Driver {
  const inner = memory({ runtime })
  const bound = Object.fromEntries(
    (['enter', 'touch', 'leave', 'watch', 'list', 'swap', 'break', 'close'] as const).map((name) => [
      name,
      (inner[name] as (...args: unknown[]) => unknown).bind(inner),
    ]),
  ) as unknown as Driver
  return Object.assign(bound, { name: 'patched', traits: inner.traits }, patch(inner))
}

export async function open(
  patch: (inner: Driver) => Partial<Driver> = () => ({}),
): Promise<{ hf: Holdfast; runtime: ManualRuntime }> {
  const runtime = new ManualRuntime()
  return { runtime, hf: await holdfast(patched(runtime, patch), { runtime, ttlMs: 10_000 }) }
}
