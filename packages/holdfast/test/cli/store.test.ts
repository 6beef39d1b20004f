import { homedir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { parseArgs } from '../../src/cli/args.ts'
import { syntax } from '../../src/cli/ls.ts'
import { publicUrl, storeUrl, urlOption } from '../../src/cli/store.ts'

const none = parseArgs(syntax, [])

describe('storeUrl', () => {
  it('prefers the option to the environment, and that to the file of this user', () => {
    const env = { HOLDFAST_STORE: 'redis://h', XDG_STATE_HOME: '/state' }
    expect(storeUrl(parseArgs(syntax, ['--store', 'etcd://h']), env)).toBe('etcd://h')
    expect(storeUrl(none, env)).toBe('redis://h')
    expect(storeUrl(none, { ...env, HOLDFAST_STORE: '' })).toBe('sqlite:/state/holdfast/locks.db')
  })

  it('escapes what has a meaning in a URL', () => {
    expect(storeUrl(none, { XDG_STATE_HOME: '/a?b/50%/#1' })).toBe('sqlite:/a%3Fb/50%25/%231/holdfast/locks.db')
    expect(publicUrl('sqlite:x.db', '/a?b')).toBe('sqlite:/a%3Fb/x.db')
  })

  it('ignores a state folder that is not absolute, as XDG has it', () => {
    const file = `sqlite:${homedir()}/.local/state/holdfast/locks.db`
    expect(storeUrl(none, {})).toBe(file)
    expect(storeUrl(none, { XDG_STATE_HOME: 'relative' })).toBe(file)
    expect(storeUrl(none, { XDG_STATE_HOME: '' })).toBe(file)
  })
})

describe('publicUrl', () => {
  it.each([
    ['redis://h:6379/2?ttlMs=5000', 'redis://h:6379/2?ttlMs=5000'],
    ['redis://user:p@ss@h/1', 'redis://user@h/1'],
    ['redis://:secret@h', 'redis://h'],
    ['redis://user@h', 'redis://user@h'],
    ['redlock://u:p@h1,h2,h3', 'redlock://u@h1,h2,h3'],
    ['sqlite:rel.db?ttlMs=1000', 'sqlite:/here/rel.db?ttlMs=1000'],
    ['sqlite:/abs/x.db', 'sqlite:/abs/x.db'],
    ['sqlite:', 'sqlite:'],
    ['sqlite:///abs/x.db', 'sqlite:/abs/x.db'],
    ['memory:', 'memory:'],
    ['redis+sentinel://h/m?sentinelUsername=a&sentinelPassword=b', 'redis+sentinel://h/m?sentinelUsername=a'],
    ['redis+sentinel://h/m?sentinelPassword=b', 'redis+sentinel://h/m'],
    [
      'postgres://u:p@h/d?listenUrl=postgres%3A%2F%2Fu%3Ap%40l%2Fd&schema=s',
      'postgres://u@h/d?listenUrl=postgres%3A%2F%2Fu%40l%2Fd&schema=s',
    ],
  ])('%s becomes %s', (url, shown) => {
    expect(publicUrl(url, '/here')).toBe(shown)
  })
})

describe('urlOption', () => {
  it('reads what the URL says', () => {
    expect(urlOption('sqlite:a.db?ttlMs=5000&label=x%20y', 'ttlMs')).toBe('5000')
    expect(urlOption('sqlite:a.db?ttlMs=5000&label=x%20y', 'label')).toBe('x y')
    expect(urlOption('sqlite:a.db?ttlMs=5000', 'label')).toBeNull()
    expect(urlOption('sqlite:a.db', 'label')).toBeNull()
  })
})
