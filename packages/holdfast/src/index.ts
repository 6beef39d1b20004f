/** The entry `holdfast`: `holdfast(store)` opens a store and gives its locks. Re-exports only. */
export * from './contract/errors.ts'
export type {
  AcquiredEvent,
  AtRiskEvent,
  BrokenEvent,
  ElectedEvent,
  ErrorEvent,
  Events,
  EventSource,
  FailedEvent,
  FenceRefusedEvent,
  GoneEvent,
  LimitedEvent,
  LockEvent,
  LossCause,
  LostEvent,
  ReleasedEvent,
  RenewedEvent,
  RequestedEvent,
  RequestEvent,
  ResignedEvent,
  WaitingEvent,
} from './contract/events.ts'
export type { Held, HoldState } from './hold/held.ts'
export type { Lock } from './acquire/lock.ts'
export type { AcquireOptions, HoldfastOptions, LockOptions } from './contract/options.ts'
export type { Cancel, Runtime } from './contract/runtime.ts'
export type * from './contract/driver.ts'
export type { HistoryEntry, HistoryKind } from './history/history.ts'
export type { Blocker, Report, ReportedEvent, Reporter } from './history/report.ts'
export type { ReportedLimiter } from './kit/limiter/counts.ts'
export type { Health, HealthOptions } from './health.ts'
export type { Holdfast } from './holdfast.ts'
export type { Locks } from './instance.ts'
export { holdfast, type StoreClient } from './open.ts'
export type { Cell, UpdateOptions, Versioned } from './kit/cell.ts'
export type { Deadlock, DeadlockParty } from './locks/deadlocks.ts'
export type { Election, ElectionOptions, Leader } from './locks/election.ts'
export type { Ids } from './kit/ids/ids.ts'
export type { IdParts, IdsOptions } from './kit/ids/layout.ts'
export type { Limiter, Outcome } from './kit/limiter/limiter.ts'
export type { Batch, LimiterOptions, Penalty, TakeOptions } from './kit/limiter/options.ts'
export type { Barrier } from './kit/barrier.ts'
export type { Latch, LatchWaitOptions } from './kit/latch.ts'
export type { Job, JobRun, JobWork } from './kit/once/job.ts'
export type { Once, OnceOptions } from './kit/once/once.ts'
export type { MultiHeld, MultiLock } from './locks/multi.ts'
export type { RwLock } from './locks/rw-lock.ts'
export type { Segments, SegmentsOptions } from './kit/segments.ts'
export type { UpgradeHeld, UpgradeLock } from './locks/upgrade.ts'
export type { Permits, Semaphore } from './locks/semaphore.ts'
