import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rehearse, RehearsalError } from 'holdfast-lab/rehearse'
import sale from './sale.js'

const { options, broken, mended } = sale

test('a sale that oversells is found', async () => {
  await assert.rejects(rehearse(broken, options), (error) => {
    assert(error instanceof RehearsalError)
    assert.match(error.message, /lost update[^]*held\.assertHeld\(\) is missing/)
    return true
  })
})

test('a sale that gives its token survives', async () => {
  await rehearse(mended, options)
})
