/**
 * `holdfast/fence`: the side that checks fencing tokens. What a lock protects refuses a holder that is no longer the
 * newest.
 */
export type { SqliteDatabase } from '../optimistic/database.ts'
export type { EtcdGuard, EtcdStore } from '../stores/etcd/guard.ts'
export type { OrmTransaction } from '../stores/sql/orm.ts'
export { etcdGuard } from './etcd.ts'
export { cellMemory } from './http/cell-memory.ts'
export { fencedFetch } from './http/client.ts'
export { type FastifyAnswer, type HttpGuard, type HttpGuardOptions, httpGuard } from './http/guard.ts'
export type { Remember, ServerAnswer } from './http/guard.ts'
export { FENCE_HEADER, fenceHeaders, requestProof, type WithHeaders } from './http/header.ts'
export { environmentProof, formatProof, type Proof, parseProof, proofOf } from './proof.ts'
export { fenceLua, type RedisGuard, type RedisGuardOptions, redisGuard, staleReply } from './redis/guard.ts'
export type { GuardedScript, RedisCommand } from './redis/guard.ts'
export { TransactionConflictError } from './sql/conflict.ts'
export { type SqlGuard, type SqlGuardOptions, type SqlTransaction, sqlGuard } from './sql/guard.ts'
