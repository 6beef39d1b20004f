import { afterAll, beforeAll, expect, it } from 'vitest'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { Terminal, until } from './terminal.ts'

const terminal = new Terminal()
let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
}, 600_000)
afterAll(() => bed?.close())

it('elect outlasts a store that is out of reach, once it has led', async () => {
  const server = await bed.redis()
  const store = `${server.url}?connectTimeoutMs=1000`
  const candidate = terminal.start(
    ['elect', 'outage', '--ttl', '2s', '--', 'sh', '-c', 'echo "token $HOLDFAST_TOKEN"; exec sleep 60'],
    { HOLDFAST_STORE: store },
  )
  const terms = (): number => candidate.out.split('token').length - 1
  await until('it leads', () => terms() === 1)
  await server.stop()
  await until('it has lost the lead', () => candidate.err.includes('standing for election again'))
  await until('it says that it tries again', () => candidate.err.includes('; trying again\n'))
  expect(candidate.hasExited).toBe(false)
  await server.start()
  await until('it leads again', () => terms() === 2)
  candidate.kill('SIGTERM')
  expect(await candidate.exit).toMatchObject({ code: 143 })
  await server.stop()
  const late = terminal.start(['elect', 'outage', '--', 'true'], { HOLDFAST_STORE: store })
  expect(await late.exit).toMatchObject({ code: 69, out: '' })
}, 120_000)
