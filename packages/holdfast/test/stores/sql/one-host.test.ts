import { expect, test } from 'vitest'
import { holdfast } from '../../../src/index.ts'

test.each(['postgres://app:secret@a:5432,b:5432/shop', 'mysql://app:secret@a,b/shop'])(
  'several hosts are refused by name, not looked for as one: %s',
  async (url) => {
    const refused = await holdfast(url).catch((error: unknown) => error as Error & { code: string })
    expect(refused).toMatchObject({ code: 'HF_USAGE' })
    expect((refused as Error).message).toMatch(/names one host, given "a.*,b.*"; give a name.*primary/)
    expect((refused as Error).message).not.toContain('secret')
  },
)

test('a comma elsewhere is no list of hosts', async () => {
  await using hf = await holdfast('postgres://app:a,b@localhost/shop,other')
  expect(hf).toBeDefined()
})
