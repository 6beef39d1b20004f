/** The numbers of ZooKeeper's wire protocol, as of 3.5 to 3.9. */

export const Op = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  removeWatches: 18,
  createContainer: 19,
  createTtl: 21,
  auth: 100,
  setWatches: 101,
  setWatches2: 105,
  addWatch: 106,
  closeSession: -11,
  error: -1,
} as const

/** Transaction ids that do not belong to a request. */
export const Xid = { event: -1, ping: -2, auth: -4, setWatches: -8 } as const

/** The greatest xid before the count starts again at 1. */
export const XID_MAX = 0x7fff_ffff

/** The largest request that a server takes by default (jute.maxbuffer); it cuts the link on a larger one. */
export const REQUEST_BYTES_MAX = 0xf_ffff

/** The offset of the xid in a request's frame: after the length. */
export const XID_OFFSET = 4
