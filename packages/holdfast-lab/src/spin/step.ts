/** One step of a schedule, as the model prints it. */

/** A server's answers: see promela/world.pml. */
export const ANSWER = { none: 0, waits: 1, vote: 2, gone: 3, quiet: 4, strange: 5 } as const
/** What is left of a server's data after a restart. */
export const COPY = { empty: 1, stale: 2, kept: 3 } as const

interface Request {
  readonly client: number
  readonly server: number
  readonly attempt: number
  readonly round: number
  readonly epoch: number
  readonly priority: number
  readonly token: number
  /** Of a touch: 0 proposes, 1 renews a hold, 2 writes back. Of enter: 1 if the token is settled. */
  readonly how: number
  readonly answer: number
  readonly answerToken: number
  /** 'late': its owner does not wait for it any more. */
  readonly fate: 'heard' | 'lost' | 'late'
}

export type Step =
  | ({ readonly kind: 'enter' | 'touch' | 'leave' | 'yield' } & Request)
  | { readonly kind: 'holds'; readonly client: number; readonly token: number; readonly votes: readonly number[] }
  | { readonly kind: 'settles'; readonly client: number; readonly token: number }
  | { readonly kind: 'renewed' | 'releases' | 'loses' | 'fails' | 'gives-up' | 'crashes'; readonly client: number }
  | { readonly kind: 'delayed'; readonly client: number; readonly server: number }
  | { readonly kind: 'learn'; readonly client: number; readonly epoch: number }
  | { readonly kind: 'restart'; readonly server: number; readonly copy: number }
  | { readonly kind: 'adopt'; readonly server: number; readonly epoch: number; readonly isQuiet: boolean }
  | { readonly kind: 'decided'; readonly epoch: number }
  | { readonly kind: 'tick' }

/** Reads one line. Throws if the model prints something unknown. */
export function readStep(line: string): Step {
  const [kind = '', first = '', second = ''] = line.split(' ')
  const field = (name: string): number => Number(new RegExp(`\\b${name} (\\d+)`).exec(line)?.[1] ?? 0)
  const client = Number(first)
  switch (kind) {
    case 'enter':
    case 'touch':
    case 'leave':
    case 'yield': {
      const [, answer, answerToken, fate] = /-> (\d+) (\d+) (heard|lost|late)$/.exec(line) ?? []
      if (answer === undefined) break
      return {
        kind,
        client,
        server: Number(second),
        attempt: field('attempt'),
        round: field('round'),
        epoch: field('epoch'),
        priority: field('priority'),
        token: field('token'),
        how: field(kind === 'enter' ? 'fixed' : 'how'),
        answer: Number(answer),
        answerToken: Number(answerToken),
        fate: fate as 'heard' | 'lost' | 'late',
      }
    }
    case 'holds':
      return { kind, client, token: field('token'), votes: setOf(field('by')) }
    case 'settles':
      return { kind, client, token: field('token') }
    case 'renewed':
    case 'releases':
    case 'loses':
    case 'fails':
    case 'gives-up':
    case 'crashes':
      return { kind, client }
    case 'delayed':
      return { kind, client, server: Number(second) }
    case 'learn':
      return { kind, client, epoch: field('epoch') }
    case 'restart':
      return { kind, server: client, copy: field('copy') }
    case 'adopt':
      return { kind, server: client, epoch: field('epoch'), isQuiet: line.endsWith('quiet') }
    case 'decided':
      return { kind, epoch: field('epoch') }
    case 'tick':
      return { kind }
  }
  throw new Error(`the model prints a step that is not known: ${line}`)
}

function setOf(bits: number): number[] {
  return [0, 1, 2, 3, 4].filter((at) => ((bits >> at) & 1) === 1)
}
