/** The check of what would be installed sees what it is there for. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { judgeAudit, judgeLock } from '../scripts/audit.js'

const FINE = { version: '1.0.0', integrity: 'sha512-abc', license: 'MIT' }

test('our own lock file is in order', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: object }
  expect(judgeLock(packages as Parameters<typeof judgeLock>[0])).toEqual([])
})

test.each([
  ['a range', { '': { devDependencies: { a: '^1.0.0' } } }, /no exact version/],
  ['a tag', { '': { devDependencies: { a: 'latest' } } }, /no exact version/],
  ['a branch of somebody', { '': { devDependencies: { a: 'github:x/y' } } }, /no exact version/],
  ['no digest', { 'node_modules/a': { ...FINE, integrity: undefined } }, /a has no digest/],
  ['a weak digest', { 'node_modules/a': { ...FINE, integrity: 'sha1-abc' } }, /a has no digest/],
  ['an address of its own', { 'node_modules/a': { ...FINE, resolved: 'git+ssh://x' } }, /a comes from git/],
  ['a script', { 'node_modules/b/node_modules/a': { ...FINE, hasInstallScript: true } }, /^a runs a script/],
  ['another licence', { 'node_modules/a': { ...FINE, license: 'SSPL-1.0' } }, /a has the licence SSPL/],
  ['no licence', { 'node_modules/a': { ...FINE, license: undefined } }, /a has the licence/],
])('%s is seen', (_, packages, message) => {
  expect(judgeLock(packages as Parameters<typeof judgeLock>[0])).toEqual([expect.stringMatching(message)])
})

test('an alias, a binary for another system and a listed script are fine', () => {
  expect(
    judgeLock({
      '': { devDependencies: { a: 'npm:@x/a@1.2.3', b: '5.0.0-beta.2' } },
      'node_modules/c': { version: '1.0.0', optional: true, os: ['darwin'] },
      'node_modules/esbuild': { ...FINE, hasInstallScript: true },
      'packages/holdfast': {},
    }),
  ).toEqual([])
})

describe('what the registry says', () => {
  test('an answer with vulnerabilities names them', () => {
    const report = { vulnerabilities: { a: { name: 'a', severity: 'high', range: '<2' } } }
    expect(judgeAudit(JSON.stringify(report))).toEqual({ asked: true, found: ['a <2: high'] })
    expect(judgeAudit('{"vulnerabilities":{}}')).toEqual({ asked: true, found: [] })
  })

  test.each(['', 'no JSON', '{"message":"405 Method Not Allowed"}', '{"error":{"code":"ENOTFOUND"}}'])(
    'no answer is not an answer: %s',
    (said) => {
      expect(judgeAudit(said)).toEqual({ asked: false, found: [] })
    },
  )
})
