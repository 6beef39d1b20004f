/** Cron expressions and time zones. */
import { Cron } from '../../../holdfast/src/kit/once/cron.ts'
import { Fault, type Target, textOf } from '../target.ts'

const FROM_MS = Date.UTC(2026, 1, 28, 23, 59)

export const cron: Target = {
  name: 'cron',
  says: 'cron expressions',
  seeds: [
    '30 2 * * mon-fri',
    '*/5 0-23/2 1,15 jan,jul 0\nEurope/Berlin',
    '0 0 29 2 *\nAmerica/New_York',
    '@daily\nAustralia/Lord_Howe',
    '0 0 31 4 *',
    '59 23 29 feb sun',
  ].map((text) => Buffer.from(text)),
  words: [
    '*',
    '/',
    '-',
    ',',
    ' ',
    'mon',
    'sunday',
    'feb',
    '@hourly',
    '29',
    '31',
    '*/59',
    '\nEurope/Lisbon',
    '\nUTC',
    '\nEtc/GMT+12',
  ],
  run(input) {
    const [text = '', zone] = textOf(input).split('\n')
    const one = zone === undefined ? new Cron(text) : new Cron(text, zone)
    let at = FROM_MS
    for (let i = 0; i < 5; i++) {
      const next = one.next(at)
      if (next === null) return
      if (!(next > at)) throw new Fault(`the next time after ${at} is ${next}`)
      at = next
    }
  },
}
