/** What is rehearsed: a sale that oversells after a pause, and one that does not. */
class Stock {
  left = 7
  newest = 0n
  count(token) {
    this.check(token)
    return this.left
  }
  put(left, token) {
    this.check(token)
    this.left = left
  }
  check(token = this.newest) {
    if (token < this.newest) throw new Error('the token is old')
    this.newest = token
  }
}

const options = { resource: () => new Stock(), reads: ['count'] }

const broken = ({ hf, resource }) =>
  hf.mutex('stock').using(async () => {
    const left = await resource.count()
    await resource.put(left - 1)
  })

const mended = ({ hf, resource }) =>
  hf.mutex('stock').using(async ({ token }) => {
    const left = await resource.count(token)
    await resource.put(left - 1, token)
  })

module.exports = { options, broken, mended }
