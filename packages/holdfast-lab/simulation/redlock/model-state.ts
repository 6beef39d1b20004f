/** What the model of a server knows: its marker, and the places of each line. */

export interface Pushed {
  readonly inbox: string
  readonly message: string
}

export interface Place {
  readonly id: string
  readonly priority: number
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  readonly inbox: string
  lapse: number
  voted: boolean
  token: number
  fixed: boolean
  round: number
  broken: 0 | 1 | 2
}

export interface Line {
  last: number
  places: Place[]
  graves: { readonly id: string; readonly until: number }[]
  disowned: { readonly inbox: string; readonly round: number; readonly until: number }[]
  keepUntil: number
}

export interface Marker {
  readonly run: string
  /** What follows the run in the seal: deployment, epoch, server. */
  readonly part: string
  readonly longestMs: number
  silentUntil: number
  latest: number
}
