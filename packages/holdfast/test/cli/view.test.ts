import { describe, expect, it } from 'vitest'
import { kind, lineJson, lineTable, placeTable } from '../../src/cli/view.ts'
import type { LineView, PlaceView } from '../../src/contract/driver.ts'

const place = (more: Partial<PlaceView> = {}): PlaceView => ({
  token: 9_007_199_254_740_993n,
  weight: 1,
  ageMs: 61_000,
  leftMs: 28_500,
  label: 'backup',
  host: 'web1',
  pid: 42,
  ...more,
})

const line: LineView = { name: 'stock', capacity: 1, holders: [place()], waiters: [place({ label: '', pid: 0 })] }

describe('lineJson', () => {
  it('is one line, with tokens as decimal strings and the members of the view', () => {
    const text = lineJson({ ...line, name: 'a\nb' })
    expect(text).not.toContain('\n')
    expect(JSON.parse(text)).toEqual({
      name: 'a\nb',
      capacity: 1,
      holders: [{ ...place(), token: '9007199254740993' }],
      waiters: [{ ...place({ label: '', pid: 0 }), token: '9007199254740993' }],
    })
  })
})

describe('tables', () => {
  it('show what candidates say of themselves', () => {
    const election = { ...line, waiters: [place({ value: 'b:2' })] }
    const [head = '', leads = '', stands = ''] = placeTable(election, false).split('\n')
    expect(head).toMatch(/TOKEN {2}VALUE$/)
    expect(leads).toMatch(/9007199254740993$/)
    expect(stands).toMatch(/9007199254740993 {2}b:2$/)
    expect(placeTable(line, false)).not.toContain('VALUE')
  })

  it('list lines', () => {
    const empty: LineView = { name: 'b', capacity: 3, holders: [], waiters: [] }
    expect(lineTable([line, empty], false).split('\n')).toEqual([
      'LOCK   KIND       HOLDERS  WAITERS  HELD BY             FOR',
      'stock  mutex            1        1  backup (web1:42)  1m01s',
      'b      3 permits        0        0  -                     -',
    ])
  })

  it('say how many more hold a line', () => {
    expect(lineTable([{ ...line, holders: [place(), place(), place()] }], false)).toContain('(web1:42) and 2 more')
  })

  it('show the places of a line in order', () => {
    expect(placeTable(line, false).split('\n')).toEqual([
      '   STATE  WHO               WEIGHT  SINCE  LEASE LEFT             TOKEN',
      '1  holds  backup (web1:42)     1/1  1m01s       28.5s  9007199254740993',
      '2  waits  web1:?               1/1  1m01s       28.5s  9007199254740993',
    ])
  })

  it('name the kinds', () => {
    expect([kind(1), kind(5), kind(1_000_000)]).toEqual(['mutex', '5 permits', 'read-write'])
    const rw = { ...line, capacity: 1_000_000, waiters: [place({ weight: 1_000_000 })] }
    expect(placeTable(rw, false)).toMatch(/holds.* read .*\n.*waits.* write /)
  })
})
