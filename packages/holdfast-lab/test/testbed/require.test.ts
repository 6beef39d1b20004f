import { afterEach, expect, test, vi } from 'vitest'
import { installPackages } from '../../src/testbed/install.ts'
import { type Kind, packagesOf } from '../../src/testbed/needs.ts'
import { requireServers, requireTools, skipped } from '../../src/testbed/require.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test('HOLDFAST_TEST_SKIP names what is skipped, and nothing that does not exist', () => {
  vi.stubEnv('HOLDFAST_TEST_SKIP', 'etcd, zookeeper')
  expect(skipped('etcd')).toBe(true)
  expect(skipped('zookeeper')).toBe(true)
  expect(skipped('redis')).toBe(false)
  vi.stubEnv('HOLDFAST_TEST_SKIP', '')
  expect(skipped('etcd')).toBe(false)
  vi.stubEnv('HOLDFAST_TEST_SKIP', 'etdc')
  expect(() => skipped('etcd')).toThrow('HOLDFAST_TEST_SKIP names "etdc"; it can name redis, etcd')
})

test('what is missing fails with the packages and the ways out; what is skipped is not looked for', async () => {
  vi.stubEnv('HOLDFAST_TEST_INSTALL', '')
  vi.stubEnv('HOLDFAST_TEST_SKIP', 'redis')
  const looked: Kind[] = []
  const findNothing = (kind: Kind): Promise<null> => {
    looked.push(kind)
    return Promise.resolve(null)
  }
  const failure = await requireServers(['redis', 'etcd', 'zookeeper'], findNothing).catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'HF_TESTBED' })
  expect((failure as Error).message).toMatch(
    /not installed: etcd, zookeeper\. Install etcd-server etcd-client zookeeper /,
  )
  expect((failure as Error).message).toContain('HOLDFAST_TEST_SKIP=etcd,zookeeper')
  expect(looked).toEqual(['etcd', 'zookeeper'])
})

test('a tool that is missing fails with its packages; no test goes without it', async () => {
  await expect(requireTools(['compiler'], () => Promise.resolve(null))).rejects.toThrow(
    /^not installed: compiler\. Install gcc libc6-dev, or set HOLDFAST_TEST_INSTALL=1 to have it installed$/,
  )
})

test('without root nothing is installed, and the error says what to install by hand', async () => {
  vi.spyOn(process, 'getuid').mockReturnValue(1000)
  await expect(installPackages(packagesOf(['postgres', 'mariadb']))).rejects.toThrow(
    'only root can install packages; install by hand: apt-get install --no-install-recommends postgresql ' +
      'mariadb-server',
  )
})
