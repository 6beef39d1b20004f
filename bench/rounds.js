/** Runs a scenario: each adapter once in every round, so that all of them meet the same load of the machine. */

/** @typedef {import('./adapter.ts').Adapter} Adapter */
/** @typedef {import('./scenario.ts').Series} Series */

/**
 * @param {import('./scenario.ts').Scenario} scenario
 * @param {readonly Adapter[]} adapters
 * @param {import('./scenario.ts').Setting} setting
 * @param {number} rounds
 * @param {(round: number, adapter: Adapter) => void} progress
 * @returns {Promise<Series[]>}
 */
export async function runRounds(scenario, adapters, setting, rounds, progress) {
  const all = adapters.map((adapter) => ({ adapter, rounds: /** @type {import('./scenario.ts').Round[]} */ ([]) }))
  /** @type {Map<Adapter, string>} */
  const failures = new Map()
  for (let round = 0; round < rounds; round++) {
    // Every second round goes backwards, so that no adapter always runs after the same neighbour.
    for (const series of round % 2 === 0 ? all : all.toReversed()) {
      if (failures.has(series.adapter)) continue
      progress(round, series.adapter)
      try {
        series.rounds.push(await scenario.run(series.adapter, setting))
      } catch (error) {
        // An adapter that fails is reported, and takes no further part. The others can still be compared.
        failures.set(series.adapter, error instanceof Error ? error.message : String(error))
      }
    }
  }
  return all.map((series) => {
    const failure = failures.get(series.adapter)
    return failure === undefined ? series : { ...series, failure }
  })
}
