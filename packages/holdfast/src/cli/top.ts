/** `holdfast top`: the locks of a store, live. */
import { checkOneOf, checkWhole } from '../contract/check.ts'
import type { Given, Syntax } from './args.ts'
import { Board, plainLine, type Sort, SORTS } from './board.ts'
import { followChanges } from './changes.ts'
import { Ending } from './ending.ts'
import { EXIT } from './exit.ts'
import { INTERVAL, readInterval } from './interval.ts'
import { type LockLook, looks } from './looks.ts'
import { optionsHelp, STORE, value } from './option.ts'
import { isStyled, print } from './output.ts'
import { hasScreen, Screen } from './screen.ts'
import { publicUrl, storeUrl, withStore } from './store.ts'

export const syntax: Syntax = {
  command: 'top',
  options: {
    sort: value('waiters', `what stands on top; one of ${SORTS.join(', ')}`),
    interval: INTERVAL,
    count: value('N', 'end after so many looks; without it, only when asked to'),
    store: STORE,
  },
  operands: ['[PREFIX]'],
  runs: false,
}

export const help: string = `Shows the locks of a store, live: who holds them and for how long, and who waits.

Usage: holdfast top [PREFIX] [options]

  PREFIX          only locks whose names begin with it
${optionsHelp(syntax.options)}

Keys: w waiters, a age, l lease, n name: what stands on top · r reverse · / filter by lock or holder (Enter keeps,
Esc clears) · arrows, j, k, PageUp, PageDown scroll · Space pause · q quit

Without a terminal it prints a line for each lock that has changed since the last look. An outage of the store is shown,
and top goes on when the store is back.

Examples:
  holdfast top
  holdfast top stock: --sort age --interval 5s
  holdfast top --count 1 | head                    the most wanted locks, once`

export function execute(given: Given): Promise<number> {
  const sort = checkOneOf('--sort', given.values.get('sort') ?? 'waiters', SORTS)
  const intervalMs = readInterval(given)
  const asked = given.values.get('count')
  const count = asked === undefined ? Number.POSITIVE_INFINITY : checkWhole('--count', wholeOf(asked), 1, 1_000_000_000)
  const url = publicUrl(storeUrl(given))
  return withStore(given, (hf) =>
    Ending.use(async (ending) => {
      const all = looks(hf, given.operands[0] ?? '', intervalMs, ending.signal)
      await (hasScreen() ? onScreen(all, new Board(url, sort), ending, count) : inLines(all, sort, count))
      return EXIT.ok
    }),
  )
}

function wholeOf(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text
}

async function onScreen(all: AsyncIterable<LockLook>, board: Board, ending: Ending, count: number): Promise<void> {
  const screen = new Screen((key) => {
    if (key === 'suspend') screen.suspend()
    else if (board.press(key, screen.size)) ending.end()
    else paint()
  })
  const paint = (): void => screen.show(board.rows(screen.size, Date.now(), isStyled()))
  let seen = 0
  try {
    for await (const look of all) {
      board.see(look)
      paint()
      if (++seen >= count) return
    }
  } finally {
    screen.close()
  }
}

async function inLines(all: AsyncIterable<LockLook>, sort: Sort, count: number): Promise<void> {
  await followChanges(
    all,
    ({ changed, ...look }) => {
      const board = new Board('', sort)
      board.see({ ...look, lines: changed })
      const at = new Date(look.seenMs).toISOString()
      for (const line of board.lines()) print(`${at} ${plainLine(line)}`)
    },
    count,
  )
}
