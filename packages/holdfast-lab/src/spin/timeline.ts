/** A schedule as text that people read: one line a step. */
import { ANSWER, readStep, type Step } from './step.ts'

const CLIENTS = ['A', 'B', 'C']
const WHO_WIDTH = 12
const WHAT_WIDTH = 44

/** The schedule of a counter-example, and what is wrong with its end. */
export function timelineOf(about: string, lines: readonly string[], law: string): string {
  const steps = lines.map((line) => told(readStep(line)))
  const rows = steps.map(([who, what, answer], i) =>
    `${String(i + 1).padStart(3)}  ${who.padEnd(WHO_WIDTH)}${what.padEnd(WHAT_WIDTH)}${answer}`.trimEnd(),
  )
  return [`${about}.`, '', ...rows, '', `${law}.`, ''].join('\n')
}

function nameOf(client: number): string {
  return CLIENTS[client] ?? `client ${client}`
}

function told(step: Step): readonly [who: string, what: string, answer: string] {
  switch (step.kind) {
    case 'enter':
    case 'touch':
    case 'leave':
    case 'yield':
      return [`${nameOf(step.client)} → ${step.server + 1}`, asked(step), answered(step)]
    case 'holds': {
      const servers = step.votes.map((at) => at + 1).join(', ')
      return [nameOf(step.client), `HOLDS with token ${step.token}, by the servers ${servers}`, '']
    }
    case 'settles':
      return [nameOf(step.client), `a majority voted, with unequal tokens: ${step.token} is written back`, '']
    case 'renewed':
      return [nameOf(step.client), 'holds on', '']
    case 'releases':
      return [nameOf(step.client), 'releases the lock', '']
    case 'loses':
      return [nameOf(step.client), 'its lease is over by its own clock', '']
    case 'fails':
      return [nameOf(step.client), 'no majority', '']
    case 'gives-up':
      return [nameOf(step.client), 'gives up', '']
    case 'crashes':
      return [nameOf(step.client), 'crashes', '']
    case 'delayed':
      return [`${nameOf(step.client)} → ${step.server + 1}`, 'a request is long under way', '']
    case 'learn':
      return [nameOf(step.client), `hears of epoch ${step.epoch}`, '']
    case 'restart': {
      const left = ['', 'empty', 'with an older copy of its data', 'with its data']
      return [`server ${step.server + 1}`, `restarts ${left[step.copy] ?? ''}`, '']
    }
    case 'adopt':
      return [`server ${step.server + 1}`, `${step.isQuiet ? 'is taken into' : 'moves on to'} epoch ${step.epoch}`, '']
    case 'decided':
      return ['a majority', `agrees on the servers of epoch ${step.epoch}`, '']
    case 'tick':
      return ['', 'time passes', '']
    default:
      return step satisfies never
  }
}

type Asked = Extract<Step, { readonly answer: number }>

function asked({ kind, token, how }: Asked): string {
  if (kind === 'enter') return how === 1 ? `enter again, holds with ${token}` : `enter, proposes ${token}`
  if (kind === 'leave') return 'leave'
  if (kind === 'yield') return 'gives the vote back'
  return ['look, proposes', 'renew, holds with', 'write back'][how] + ` ${token}`
}

function answered({ kind, answer, answerToken, fate }: Asked): string {
  const said =
    answer === ANSWER.quiet
      ? 'no votes from me yet'
      : answer === ANSWER.strange
        ? 'I am of another epoch, or of none'
        : kind === 'leave'
          ? 'gone'
          : kind === 'yield'
            ? answer === ANSWER.vote
              ? 'taken back'
              : 'too late'
            : answer === ANSWER.vote
              ? `vote, token ${answerToken}`
              : answer === ANSWER.waits
                ? 'wait'
                : 'that place is gone'
  return fate === 'lost' ? `${said} (nobody hears it)` : fate === 'late' ? `${said} (late)` : said
}
