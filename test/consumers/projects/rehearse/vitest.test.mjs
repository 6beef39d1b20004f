import { rehearse, RehearsalError } from 'holdfast-lab/rehearse'
import { expect, test } from 'vitest'
import sale from './sale.js'

const { options, broken, mended } = sale

test('a sale that oversells is found', async () => {
  await expect(rehearse(broken, options)).rejects.toThrow(RehearsalError)
  await expect(rehearse(broken, options)).rejects.toThrow(/lost update[^]*held\.assertHeld\(\) is missing/)
})

test('a sale that gives its token survives', async () => {
  await rehearse(mended, options)
})
