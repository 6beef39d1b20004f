/** Watching keys: many watchers share one stream, each with an id that the server gives. */
import { bool, bytes, choice, int64, repeated, string } from '../field.ts'
import { always, Message, nested } from '../message.ts'
import { KeyValue, ResponseHeader } from './header.ts'

export interface WatchCreateRequest {
  readonly key: Uint8Array
  readonly rangeEnd?: Uint8Array
  /** The first revision to report; 0n: whatever comes next. */
  readonly startRevision?: bigint
  readonly progressNotify?: boolean
  /** Kinds of events to leave out. */
  readonly filters?: readonly ('noput' | 'nodelete')[]
  readonly prevKv?: boolean
  readonly watchId?: bigint
  /** Large answers may come in pieces. */
  readonly fragment?: boolean
}

export const WatchCreateRequest: Message<WatchCreateRequest> = new Message({
  key: bytes(1),
  rangeEnd: bytes(2),
  startRevision: int64(3),
  progressNotify: bool(4),
  filters: repeated(choice<'noput' | 'nodelete'>(5, ['noput', 'nodelete'])),
  prevKv: bool(6),
  watchId: int64(7),
  fragment: bool(8),
})

export interface WatchCancelRequest {
  readonly watchId?: bigint
}

export const WatchCancelRequest: Message<WatchCancelRequest> = new Message({ watchId: int64(1) })

export type WatchProgressRequest = Record<string, never>

export const WatchProgressRequest: Message<WatchProgressRequest> = new Message({})

/** Exactly one of the three. */
export interface WatchRequest {
  readonly create?: WatchCreateRequest | undefined
  readonly cancel?: WatchCancelRequest | undefined
  readonly progress?: WatchProgressRequest | undefined
}

export const WatchRequest: Message<WatchRequest> = new Message({
  create: nested(1, WatchCreateRequest),
  cancel: nested(2, WatchCancelRequest),
  progress: nested(3, WatchProgressRequest),
})

/** A key was written or removed; after a removal `kv` has only the key and the revision of the removal. */
export interface WatchEvent {
  readonly type: 'put' | 'delete'
  readonly kv: KeyValue
  readonly prevKv?: KeyValue | undefined
}

export const WatchEvent: Message<WatchEvent> = new Message({
  type: choice(1, ['put', 'delete']),
  kv: always(2, KeyValue),
  prevKv: nested(3, KeyValue),
})

export interface WatchResponse {
  readonly header: ResponseHeader
  readonly watchId: bigint
  readonly created: boolean
  readonly canceled: boolean
  /** Above 0n: the watcher asked for history older than this, which is gone. */
  readonly compactRevision: bigint
  readonly cancelReason: string
  /** More pieces of the same answer follow. */
  readonly fragment: boolean
  readonly events: readonly WatchEvent[]
}

export const WatchResponse: Message<WatchResponse> = new Message({
  header: always(1, ResponseHeader),
  watchId: int64(2),
  created: bool(3),
  canceled: bool(4),
  compactRevision: int64(5),
  cancelReason: string(6),
  fragment: bool(7),
  events: repeated(always(11, WatchEvent)),
})
