/** A transaction: compares, and what to do if all hold or if one doesn't. */
import { bool, bytes, choice, int64, oneof, repeated } from '../field.ts'
import { always, Message, nested } from '../message.ts'
import { ResponseHeader } from './header.ts'
import { DeleteRangeRequest, DeleteRangeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse } from './kv.ts'

/** One condition, for example `{ target: 'create', result: '=', key, createRevision: 0n }`: the key doesn't exist. */
export interface Compare {
  readonly result?: '=' | '>' | '<' | '!='
  readonly target?: 'version' | 'create' | 'mod' | 'value' | 'lease'
  readonly key: Uint8Array
  /** Give exactly the member that `target` names. */
  readonly version?: bigint | undefined
  readonly createRevision?: bigint | undefined
  readonly modRevision?: bigint | undefined
  readonly value?: Uint8Array | undefined
  readonly lease?: bigint | undefined
  /** The condition must hold for every key of the range; an empty range counts as holding. */
  readonly rangeEnd?: Uint8Array
}

export const Compare: Message<Compare> = new Message({
  result: choice(1, ['=', '>', '<', '!=']),
  target: choice(2, ['version', 'create', 'mod', 'value', 'lease']),
  key: bytes(3),
  version: oneof(int64(4)),
  createRevision: oneof(int64(5)),
  modRevision: oneof(int64(6)),
  value: oneof(bytes(7)),
  lease: oneof(int64(8)),
  rangeEnd: bytes(64),
})

/** Exactly one of the four. */
export interface RequestOp {
  readonly range?: RangeRequest | undefined
  readonly put?: PutRequest | undefined
  readonly deleteRange?: DeleteRangeRequest | undefined
  /** A transaction inside the transaction: a decision within a decision, still one step. */
  readonly txn?: TxnRequest | undefined
}

export const RequestOp: Message<RequestOp> = new Message({
  range: nested(1, RangeRequest),
  put: nested(2, PutRequest),
  deleteRange: nested(3, DeleteRangeRequest),
  txn: nested(4, (): Message<TxnRequest> => TxnRequest),
})

/** The answer to the operation at the same index. */
export interface ResponseOp {
  readonly range?: RangeResponse | undefined
  readonly put?: PutResponse | undefined
  readonly deleteRange?: DeleteRangeResponse | undefined
  readonly txn?: TxnResponse | undefined
}

export const ResponseOp: Message<ResponseOp> = new Message({
  range: nested(1, RangeResponse),
  put: nested(2, PutResponse),
  deleteRange: nested(3, DeleteRangeResponse),
  txn: nested(4, (): Message<TxnResponse> => TxnResponse),
})

export interface TxnRequest {
  readonly compare?: readonly Compare[]
  readonly success?: readonly RequestOp[]
  readonly failure?: readonly RequestOp[]
}

export const TxnRequest: Message<TxnRequest> = new Message({
  compare: repeated(always(1, Compare)),
  success: repeated(always(2, RequestOp)),
  failure: repeated(always(3, RequestOp)),
})

export interface TxnResponse {
  readonly header: ResponseHeader
  /** All compares held: `responses` answer `success`, otherwise `failure`. */
  readonly succeeded: boolean
  readonly responses: readonly ResponseOp[]
}

export const TxnResponse: Message<TxnResponse> = new Message({
  header: always(1, ResponseHeader),
  succeeded: bool(2),
  responses: repeated(always(3, ResponseOp)),
})
