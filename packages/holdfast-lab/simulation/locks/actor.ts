/** A simulated program: takes locks, works under them, lets go, in the ways that users do. */
import {
  AcquireTimeoutError,
  LockLostError,
  NotHeldError,
  StoreUnreachableError,
} from '../../../holdfast/src/contract/errors.ts'
import type { Handle } from '../../../holdfast/src/hold/handle.ts'
import type { Held } from '../../../holdfast/src/hold/held.ts'
import type { Lock } from '../../../holdfast/src/acquire/lock.ts'
import type { AcquireOptions, LockOptions } from '../../../holdfast/src/contract/options.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import type { Checker, Record } from './checker.ts'
import type { Machine } from './machine.ts'
import type { Rng } from './rng.ts'

/** A line and what it is used as; all programs agree on it. */
export interface Course {
  readonly line: string
  readonly kind: 'mutex' | 'semaphore' | 'rw'
  readonly permits: number
  readonly options: LockOptions & { readonly ttlMs: number }
}

const RW = 1_000_000
/** What an upgradeable lock weighs while it reads. */
const SHARE = 500_001

export class Actor {
  readonly machine: Machine
  /** Tasks that have neither ended nor been cut off by a crash. */
  open: number = 0
  readonly #hf: Holdfast
  readonly #rng: Rng
  readonly #checker: Checker
  readonly #patient: boolean

  constructor(machine: Machine, hf: Holdfast, rng: Rng, checker: Checker, patient: boolean) {
    this.machine = machine
    this.#hf = hf
    this.#rng = rng
    this.#checker = checker
    this.#patient = patient
  }

  /** Begins a task now. */
  begin(course: Course): void {
    this.#follow(this.#task(course))
  }

  /** Many readers of one program at once. */
  crowd(course: Course): void {
    const { read } = this.#hf.rwLock(course.line, course.options)
    for (let n = this.#rng.whole(5, 20); n > 0; n--) {
      this.#follow(read.acquire().then((held) => this.#work(this.#record(course, held, { weight: 1, capacity: RW }))))
    }
  }

  /** Two lines in one step, given up in the middle of it: whoever aborted must not hold. */
  both(courses: readonly [Course, Course]): void {
    const rng = this.#rng
    const task = async (): Promise<void> => {
      const controller = new AbortController()
      let isAborted = false
      if (!this.#patient) {
        this.machine.runtime.after(
          rng.between(0, 30),
          () => {
            isAborted = true
            controller.abort(new AbortedOnPurpose())
          },
          true,
        )
      }
      const locks = this.#hf.all(courses.map(({ line, options }) => this.#hf.mutex(line, options)))
      const held = await (rng.chance(0.5) || this.#patient
        ? locks.acquire({ signal: controller.signal })
        : locks.tryAcquire({ signal: controller.signal }))
      if (held === null) return
      if (isAborted) this.#checker.fail(`a multi-lock that was aborted was given to ${this.machine.name}`)
      const ends = held.holds.map((each, i) =>
        this.#work(this.#record(courses[i as 0 | 1], each, { weight: 1, capacity: 1, isExclusive: true })),
      )
      for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason
    }
    this.#follow(task())
  }

  /** Takes a line from whoever holds it, by the rule: they may go on until their lease has run out. */
  break({ line }: Course): void {
    this.#follow(this.#hf.break(line).then(() => undefined))
  }

  #follow(task: Promise<void>): void {
    this.open++
    task.then(
      () => this.open--,
      (error: unknown) => {
        this.open--
        if (isExpected(error)) return
        this.#checker.fail(`unexpected error at ${this.machine.name}: ${String(error)}`)
      },
    )
  }

  async #task(course: Course): Promise<void> {
    const rng = this.#rng
    if (course.kind === 'rw' && rng.chance(0.3)) return this.#upgrade(course)
    const { lock, weight, capacity, isExclusive } = this.#choose(course)
    const take = (held: Held): Record => this.#record(course, held, { weight, capacity, isExclusive })
    // A mutex has no such option, and its type does not know it; a semaphore needs it.
    const permits: AcquireOptions = course.kind === 'semaphore' ? ({ permits: weight } as AcquireOptions) : {}
    const style = rng.whole(0, 5)
    if (style === 0 && !this.#patient) {
      const held = await lock.tryAcquire(permits)
      if (held !== null) await this.#work(take(held))
    } else if (style === 1 && !this.#patient) {
      const controller = new AbortController()
      this.machine.runtime.after(rng.between(0, 60), () => controller.abort(new AbortedOnPurpose()), true)
      await this.#work(take(await lock.acquire({ signal: controller.signal, ...permits })))
    } else if (style === 2 && !this.#patient) {
      await this.#work(take(await lock.acquire({ waitMs: rng.between(1, 400), ...permits })))
    } else if (style === 3 && course.kind !== 'semaphore') {
      await this.#nested(lock, take)
    } else {
      await this.#work(take(await lock.acquire(permits)))
    }
  }

  #choose(course: Course): { lock: Lock; weight: number; capacity: number; isExclusive: boolean } {
    const { line, kind, permits, options } = course
    if (kind === 'mutex') return { lock: this.#hf.mutex(line, options), weight: 1, capacity: 1, isExclusive: true }
    if (kind === 'semaphore') {
      const weight = this.#rng.whole(1, permits)
      return { lock: this.#hf.semaphore(line, permits, options), weight, capacity: permits, isExclusive: false }
    }
    const isExclusive = this.#rng.chance(0.4)
    const { read, write } = this.#hf.rwLock(line, options)
    return { lock: isExclusive ? write : read, weight: isExclusive ? RW : 1, capacity: RW, isExclusive }
  }

  /** What the judge is told of a hold; of an upgradeable one the lease is that of the reader under it. */
  #record(
    { line, options }: Course,
    held: Held,
    is: Pick<Record, 'weight' | 'capacity'> & Partial<Pick<Record, 'isExclusive' | 'isUpgraded'>>,
  ): Record {
    return {
      machine: this.machine,
      handle: 'reader' in held ? (held.reader as Handle) : (held as Handle),
      line,
      isExclusive: false,
      ...is,
      ttlMs: options.ttlMs,
      isFixed: options.renew === false,
      grantedAt: this.#checker.now,
      token: held.token,
      endedAt: null,
    }
  }

  /** Reads, then writes, then reads again; now and then it waits for the readers no longer. */
  async #upgrade(course: Course): Promise<void> {
    const rng = this.#rng
    const held = await this.#hf.rwLock(course.line, course.options).upgrade.acquire()
    let record = this.#record(course, held, { weight: SHARE, capacity: RW })
    this.#watch(record)
    try {
      for (let times = rng.whole(1, 2); times > 0; times--) {
        await this.#sleep(rng.between(0, 40))
        let writer: Held
        try {
          writer = await held.upgrade(this.#patient || rng.chance(0.6) ? {} : { waitMs: rng.between(1, 100) })
        } catch (error) {
          if (error instanceof AcquireTimeoutError) continue
          throw error
        }
        this.#checker.released(record)
        record = this.#record(course, writer, { weight: RW, capacity: RW, isExclusive: true, isUpgraded: true })
        this.#watch(record)
        await this.#sleep(rng.between(0, 20))
        writer.assertHeld()
        this.#checker.effect(record)
        this.#checker.released(record)
        await writer.release()
        if (times === 1 || held.state === 'lost') return
        record = this.#record(course, held, { weight: SHARE, capacity: RW, isUpgraded: true })
        this.#watch(record)
      }
    } finally {
      this.#checker.released(record)
      await held.release()
    }
  }

  async #work(record: Record): Promise<void> {
    const held: Held = record.handle
    this.#watch(record)
    try {
      for (let effects = this.#rng.whole(0, 3); effects > 0; effects--) {
        await this.#sleep(this.#rng.between(0, 40))
        held.assertHeld()
        this.#checker.effect(record)
      }
    } finally {
      // The judge must know before others can: between the two, the place is nobody's.
      this.#checker.released(record)
      await held.release()
    }
  }

  #watch(record: Record): void {
    // Told of a loss between the grant and this step: then it holds nothing.
    if (record.handle.state === 'lost') return
    this.#checker.granted(record)
    record.handle.signal.addEventListener('abort', () => this.#checker.lost(record), { once: true })
  }

  /** Two children inside one hold, and a task that outlives it. */
  async #nested(lock: Lock, take: (held: Held) => Record): Promise<void> {
    let inside = 0
    let over = false
    await lock.using(async (held) => {
      const record = take(held)
      this.#watch(record)
      const child = (): Promise<void> =>
        lock.using(async (inner) => {
          if (inner.token !== held.token) return
          if (++inside > 1 && record.isExclusive) this.#checker.fail('two children of one hold were inside at once')
          await this.#sleep(this.#rng.between(0, 10))
          inside--
        })
      void this.#sleep(200).then(() => this.#straggle(lock, () => over, record))
      const ends = await Promise.allSettled([child(), child()])
      over = true
      this.#checker.released(record)
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    })
  }

  async #straggle(lock: Lock, isOver: () => boolean, outer: Record): Promise<void> {
    if (!isOver() || !outer.isExclusive) return
    try {
      const held = await lock.tryAcquire()
      if (held === null) return
      if (held.token === outer.token) this.#checker.fail('a task that outlived its hold took itself for the holder')
      await held.release()
    } catch (error) {
      if (!isExpected(error)) this.#checker.fail(`unexpected error of a straggler: ${String(error)}`)
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.machine.runtime.after(ms, resolve, true)
    })
  }
}

class AbortedOnPurpose extends Error {}

function isExpected(error: unknown): boolean {
  return (
    error instanceof AbortedOnPurpose ||
    error instanceof AcquireTimeoutError ||
    error instanceof LockLostError ||
    error instanceof NotHeldError ||
    error instanceof StoreUnreachableError
  )
}
