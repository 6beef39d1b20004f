/** The examples of docs/how-to/rehearse.md: the broken form of each is found, the mended one survives. */
import { survey } from 'holdfast-lab/rehearse'
import { describe, expect, test } from 'vitest'
import * as cronJob from '../../examples/rehearse/cron-job.ts'
import * as flashSale from '../../examples/rehearse/flash-sale.ts'
import * as leaderStorage from '../../examples/rehearse/leader-storage.ts'

describe('rehearsals', () => {
  test('a flash sale', async () => {
    const { broken, mended } = flashSale
    expect((await survey(broken.run, broken)).failure).toMatchObject({ kind: 'lost-update', missing: 'assertHeld' })
    expect((await survey(mended.run, mended)).failure).toBeNull()
  })

  test('a cron job', async () => {
    const { broken, mended } = cronJob
    expect((await survey(broken.run, broken)).failure).toMatchObject({ kind: 'late-effect', missing: 'assertHeld' })
    expect((await survey(mended.run, mended)).failure).toBeNull()
  })

  test('a leader that writes to object storage', async () => {
    const { broken, mended } = leaderStorage
    expect((await survey(broken.run, broken)).failure).toMatchObject({ kind: 'lost-update', missing: 'guard' })
    expect((await survey(mended.run, mended)).failure).toBeNull()
  })
})
