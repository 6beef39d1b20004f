/**
 * One text for all states that differ only in what no rule asks for: which of two equal clients is which, how large
 * tokens are while their order is the same, how old a request is that nobody waits for, which dead ids can't come.
 */
import type { ModelAnswer, ModelLine } from 'holdfast/conformance'
import type { Client, Request, State, World } from './state.ts'

type Name = (id: string) => string

export class Keys {
  /** Clients with equal wishes have equal texts. */
  readonly #kinds: readonly string[]

  constructor({ wishes }: World) {
    this.#kinds = wishes.map((wish) => JSON.stringify(wish))
  }

  of(state: State): string {
    const { lines, clients, requests, replies, pushes, budget, seen } = state
    const ranks = lines.map((line, at) => ranksOf(line, at, state))
    const rank = (line: number, token: number): number => (ranks[line] as readonly number[]).indexOf(token)
    const mayCome = new Set(requests.flatMap(({ event }) => (event.kind === 'enter' ? [event.id] : [])))
    for (const { legs } of clients) for (const { phase, id } of legs) if (phase === 'asking') mayCome.add(id)
    const ask = ({ line, event, age, awaited }: Request, name: Name): string =>
      `${line}${event.kind}${name(event.id)}${'turn' in event ? event.turn : ''}${awaited ? age : '-'}`
    /** Everything that belongs to one client, under its name. */
    const own = (client: Client, c: number, name: Name): string => {
      const legs = client.legs.map(
        (leg) =>
          `${leg.line}${name(leg.id)}${leg.phase}${leg.left}.${rank(leg.line, leg.token)}.${leg.counter}` +
          `${+leg.doubted}${leg.turn}${+leg.heavy}`,
      )
      const undo = client.undo.map((each) => `${name(each.id)}${each.leaves}${+each.asking}`).toSorted()
      const asked = requests.flatMap((request) => (request.from === c ? [ask(request, name)] : [])).toSorted()
      const told = replies
        .flatMap(({ request, answer }) =>
          request.from === c ? [ask(request, name) + said(answer, rank(request.line, answer?.token ?? 0))] : [],
        )
        .toSorted()
      const pushed = pushes.flatMap(({ to, id }) => (to === c ? [name(id)] : [])).toSorted()
      const places = lines.flatMap(({ places: all, raise, tombstones }, at) => [
        ...all.flatMap(({ id, token, lapsesAt, broken, turn }) =>
          ownerOf(id) === c
            ? [
                `${at}${name(id)}${rank(at, token)}.${lapsesAt}${+broken}${turn}` +
                  (raise?.id === id ? `^${rank(at, raise.beside)}` : ''),
              ]
            : [],
        ),
        ...tombstones
          .filter((id) => ownerOf(id) === c && mayCome.has(id))
          .map((id) => `${at}+${name(id)}`)
          .toSorted(),
      ])
      return [client.visits, client.ids, legs, undo, asked, told, pushed, places].join(';')
    }
    const texts = clients.map((client, c) => `${this.#kinds[c]}${own(client, c, (id) => id.slice(1))}`).toSorted()
    const tokens = seen.map(({ any, alone }, at) => `${issue(any, at, rank)},${issue(alone, at, rank)}`)
    const { lost, late, doubled, crash, break: breaks, abort } = budget
    return `${texts.join('/')}|${tokens.join()}|${lost}${late}${doubled}${crash}${breaks}${abort}`
  }
}

/** The owner of a place. */
export function ownerOf(id: string): number {
  return id.charCodeAt(0) - 97
}

function said(answer: ModelAnswer | null, rank: number): string {
  return answer === null ? '-' : `${rank}${+answer.granted}${+answer.wanted}`
}

function issue(token: number, at: number, rank: (line: number, token: number) => number): string {
  return `${rank(at, Math.floor(token / 8))}.${token % 8}`
}

/** The tokens of a line that anybody knows of, in order. */
function ranksOf({ places, raise }: ModelLine, at: number, { clients, replies, seen }: State): number[] {
  const tokens = new Set(places.map(({ token }) => token))
  if (raise !== null) tokens.add(raise.beside)
  for (const { legs } of clients) for (const leg of legs) if (leg.line === at) tokens.add(leg.token)
  for (const { request, answer } of replies) if (request.line === at && answer !== null) tokens.add(answer.token)
  const { any, alone } = seen[at] as State['seen'][number]
  tokens.add(Math.floor(any / 8)).add(Math.floor(alone / 8))
  return [...tokens].sort((a, b) => a - b)
}
