import { expect, test } from 'vitest'
import { revokesLate } from '../../../src/stores/etcd/server-check.ts'

test.each(['3.4.0', '3.4.23', '3.4.30', '3.5.0', '3.5.12', '3.3.27', '3.5.0-rc.1'])(
  'etcd %s is warned of',
  (version) => {
    expect(revokesLate(version)).toBe(true)
  },
)

test.each(['3.4.31', '3.4.37', '3.5.13', '3.5.21', '3.6.0', '3.10.0', '4.0.0', '', 'unknown'])(
  'etcd %s is not',
  (version) => {
    expect(revokesLate(version)).toBe(false)
  },
)
