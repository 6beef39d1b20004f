/** The generated codec that the hand codec is compared with: protobufjs on rpc.proto, and random messages for both. */
import { fileURLToPath } from 'node:url'
import protobuf from 'protobufjs'
import { Random } from '../../../../holdfast-lab/src/torture/random.ts'

const root = protobuf.loadSync(fileURLToPath(new URL('rpc.proto', import.meta.url)))

/** From a seed, so that a failure can be replayed. */
export function seeded(seed: number): () => number {
  const random = new Random(seed)
  return () => random.next()
}

const COMPARE_RESULTS = ['=', '>', '<', '!=']
/** int64 fields that our messages keep as plain numbers. */
const AMOUNTS = new Set(['limit', 'count', 'deleted', 'ttlS', 'grantedTtlS', 'dbSize', 'dbSizeInUse'])
/** Sub-messages that our decoder fills in when they are missing. */
const ALWAYS = new Set(['header', 'kv'])

type Plain = Record<string, unknown>
type Long = { low: number; high: number; unsigned: boolean }

const toBig = ({ low, high, unsigned }: Long): bigint => {
  const bits = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)
  return unsigned ? bits : BigInt.asIntN(64, bits)
}
const LongClass = protobuf.util.Long as unknown as { fromBits(low: number, high: number, unsigned: boolean): Long }
const toLong = (value: bigint, unsigned: boolean): Long =>
  LongClass.fromBits(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)), unsigned)

function toWord(field: protobuf.Field, value: number): string {
  const kind = field.resolvedType as protobuf.Enum
  if (kind.name === 'CompareResult') return COMPARE_RESULTS[value] ?? ''
  return String(kind.valuesById[value]).toLowerCase()
}

function fromWord(field: protobuf.Field, word: string): number {
  const kind = field.resolvedType as protobuf.Enum
  if (kind.name === 'CompareResult') return COMPARE_RESULTS.indexOf(word)
  return kind.values[word.toUpperCase()] ?? -1
}

/** One value as the oracle holds it, turned into one as our messages hold it. */
function one(field: protobuf.Field, value: unknown): unknown {
  if (field.resolvedType instanceof protobuf.Type) return ours(field.resolvedType, value as Plain)
  if (field.resolvedType instanceof protobuf.Enum) return toWord(field, value as number)
  if (field.type === 'int64' || field.type === 'uint64') {
    const big = toBig(value as Long)
    return AMOUNTS.has(field.name) ? Number(big) : big
  }
  return field.type === 'bytes' ? Buffer.from(value as Uint8Array) : value
}

function zero(field: protobuf.Field): unknown {
  if (field.repeated) return []
  if (field.resolvedType instanceof protobuf.Type) {
    return ALWAYS.has(field.name) ? ours(field.resolvedType, {}) : undefined
  }
  if (field.partOf) return undefined
  if (field.resolvedType instanceof protobuf.Enum) return toWord(field, 0)
  if (field.type.endsWith('int64')) return AMOUNTS.has(field.name) ? 0 : 0n
  return { bytes: Buffer.alloc(0), bool: false, string: '' }[field.type]
}

function ours(type: protobuf.Type, message: Plain): Plain {
  const plain: Plain = {}
  for (const field of type.fieldsArray) {
    field.resolve()
    const value = Object.hasOwn(message, field.name) ? message[field.name] : undefined
    if (value === undefined || value === null) plain[field.name] = zero(field)
    else plain[field.name] = field.repeated ? (value as unknown[]).map((v) => one(field, v)) : one(field, value)
  }
  return plain
}

function theirs(type: protobuf.Type, plain: Plain): Plain {
  const message: Plain = {}
  const turn = (field: protobuf.Field, value: unknown): unknown => {
    if (field.resolvedType instanceof protobuf.Type) return theirs(field.resolvedType, value as Plain)
    if (field.resolvedType instanceof protobuf.Enum) return fromWord(field, value as string)
    if (field.type.endsWith('int64')) return toLong(BigInt(value as bigint | number), field.type === 'uint64')
    return value
  }
  for (const field of type.fieldsArray) {
    field.resolve()
    const value = plain[field.name]
    if (value === undefined) continue
    message[field.name] = field.repeated ? (value as unknown[]).map((v) => turn(field, v)) : turn(field, value)
  }
  return message
}

/** Encodes what our messages hold, by the oracle. */
export function oracleEncode(name: string, plain: object): Buffer {
  const type = root.lookupType(name)
  return Buffer.from(type.encode(type.create(theirs(type, plain as Plain))).finish())
}

/** Decodes by the oracle into what our messages hold. */
export function oracleDecode(name: string, bytes: Uint8Array): object {
  const type = root.lookupType(name)
  return ours(type, type.decode(bytes) as unknown as Plain)
}

const EDGES = [
  0n,
  1n,
  127n,
  128n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  7587848943712345678n,
]

function randomScalar(field: protobuf.Field, random: () => number): unknown {
  const size = Math.floor(random() * (random() < 0.05 ? 5000 : 20))
  if (field.resolvedType instanceof protobuf.Enum) {
    return toWord(field, Math.floor(random() * Object.keys(field.resolvedType.values).length))
  }
  if (field.type === 'bool') return random() < 0.5
  if (field.type === 'string') return 'é€😀a'.repeat(size % 7)
  if (field.type === 'bytes') return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))
  const edge = EDGES[Math.floor(random() * EDGES.length)] ?? 0n
  if (AMOUNTS.has(field.name)) return Number(BigInt.asIntN(53, edge)) * (random() < 0.2 ? -1 : 1) + 0
  return field.type === 'int64' && random() < 0.3 ? -edge : edge
}

/** A random message of this type, whole: all that a decoder would fill in is there. */
export function randomMessage(name: string | protobuf.Type, random: () => number): Record<string, unknown> {
  const type = typeof name === 'string' ? root.lookupType(name) : name
  const plain: Plain = {}
  const chosen = new Map(type.oneofsArray.map((o) => [o, o.fieldsArray[Math.floor(random() * o.fieldsArray.length)]]))
  for (const field of type.fieldsArray) {
    field.resolve()
    const make = (): unknown =>
      field.resolvedType instanceof protobuf.Type
        ? randomMessage(field.resolvedType, random)
        : randomScalar(field, random)
    if (field.repeated) plain[field.name] = Array.from({ length: Math.floor(random() * 4) }, make)
    else if (field.partOf ? chosen.get(field.partOf) === field : random() < 0.7) plain[field.name] = make()
    else plain[field.name] = zero(field)
  }
  return plain
}
