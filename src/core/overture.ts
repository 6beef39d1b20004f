/** What is told of a place before there is a hold of it: a wake-up is remembered, the rest comes only to places that are kept. */
import type { LeaseListener } from './lease.ts'

export class Overture implements LeaseListener {
  woken = false
  placed(): void {}
  risked(): void {}
  ended(): void {}
  woke(): void {
    this.woken = true
  }
}
