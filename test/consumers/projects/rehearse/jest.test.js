const { rehearse, RehearsalError } = require('holdfast-lab/rehearse')
const { options, broken, mended } = require('./sale.js')

test('a sale that oversells is found', async () => {
  await expect(rehearse(broken, options)).rejects.toThrow(RehearsalError)
  await expect(rehearse(broken, options)).rejects.toThrow(/lost update[^]*held\.assertHeld\(\) is missing/)
})

test('a sale that gives its token survives', async () => {
  await rehearse(mended, options)
})
