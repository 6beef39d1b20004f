/** The few statistics that the bench uses. */

/**
 * Linear between the two nearest.
 *
 * @param {readonly number[] | Float64Array} values in any order
 * @param {number} q 0 to 1
 */
export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort()
  if (sorted.length === 0) return Number.NaN
  const at = q * (sorted.length - 1)
  const low = /** @type {number} */ (sorted[Math.floor(at)])
  const high = /** @type {number} */ (sorted[Math.ceil(at)])
  return low + (high - low) * (at - Math.floor(at))
}

/**
 * Jain's index: 1 when all got the same, 1/n when one got everything.
 *
 * @param {readonly number[]} shares
 */
export function jain(shares) {
  let sum = 0
  let squares = 0
  for (const share of shares) {
    sum += share
    squares += share * share
  }
  return squares === 0 ? Number.NaN : (sum * sum) / (shares.length * squares)
}

/**
 * Median and quartiles. Rounds without a figure are left out.
 *
 * @param {readonly number[]} values
 */
export function spread(values) {
  const known = values.filter((value) => !Number.isNaN(value))
  return { median: quantile(known, 0.5), p25: quantile(known, 0.25), p75: quantile(known, 0.75) }
}
