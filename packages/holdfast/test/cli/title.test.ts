import { expect, it } from 'vitest'
import { titleOf } from '../../src/cli/title.ts'

it.each([
  [['ls', '--store', 'redis://ann:c4n4ry@h:6379/1'], 'holdfast ls --store redis://***@h:6379/1'],
  [['ls', '--store=redis://:c4n4ry@h'], 'holdfast ls --store=redis://***@h'],
  [['ls', '--store', 'redis://ann:c4n@ry@h'], 'holdfast ls --store redis://***@h'],
  [['ls', '--store', 'postgres://ann:c4n4ry/c4n4ry@h'], 'holdfast ls --store postgres://***@h'],
  [
    ['ls', '--store', 'redis+sentinel://h/m?sentinelPassword=c4n4ry&ttlMs=1'],
    'holdfast ls --store redis+sentinel://h/m?sentinelPassword=***&ttlMs=1',
  ],
  [
    ['ls', '--store', 'postgres://u:c4n4ry@h/d?listenUrl=postgres%3A%2F%2Fu%3Ac4n4ry%40l%2Fd'],
    'holdfast ls --store postgres://***@h/d?listenUrl=postgres%3A%2F%2F***%40l%2Fd',
  ],
  [
    ['run', 'x', '--store', 'etcd://u:c4n4ry@h', '--', 'sh', '-c', 'x'],
    'holdfast run x --store etcd://***@h -- sh -c x',
  ],
])('%j is shown as %s', (args, title) => {
  expect(titleOf(args)).toBe(title)
})

it('nothing is changed where there is no password, or where it is not ours', () => {
  expect(titleOf(['ls', '--store', 'redis://h'])).toBeNull()
  expect(titleOf(['run', 'x', '--', 'psql', 'postgres://u:theirs@h/d'])).toBeNull()
})
