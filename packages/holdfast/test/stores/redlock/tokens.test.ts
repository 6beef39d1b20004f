import { describe, expect, it } from 'vitest'
import { tokenFell } from '../../../../holdfast-lab/simulation/redlock/token-game.ts'

const GAMES = 1_000
const SEEDS = Array.from({ length: GAMES }, (_, i) => i + 1)

describe(`tokens in ${GAMES} games of clients whose clocks are up to 40 s apart`, () => {
  it('rise when they are settled where the vote lives', () => {
    expect(SEEDS.find((seed) => tokenFell(seed, 'where the vote lives'))).toBeUndefined()
  })

  it.each(['any majority', 'plain maximum', 'for ever'] as const)(
    'fall when they are settled by %s: the game can see',
    (way) => {
      const more = Array.from({ length: 4 * GAMES }, (_, i) => i + 1)
      expect(more.find((seed) => tokenFell(seed, way))).toBeDefined()
    },
  )
})
