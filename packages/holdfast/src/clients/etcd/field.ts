/** The fields of a protobuf message: for each kind, how one value is written and read. */
import { EtcdProtocolError } from './errors.ts'
import { type Reader, WireType, type Writer } from './wire.ts'

/** One field: its number, its layout, and how its value is written and read. */
export interface Field<V> {
  readonly number: number
  readonly type: number
  /** The value of a field that the bytes don't mention. */
  initial(): V
  /** Whether this is the value that proto3 leaves out of the bytes. */
  omitted(value: V): boolean
  /** Writes value and tag, backwards. */
  write(writer: Writer, value: V): void
  /** Reads the value; `before` is what was read for this field so far (only `repeated` adds to it). */
  read(reader: Reader, type: number, before?: V): V
}

function scalar<V>(
  number: number,
  type: number,
  zero: V,
  put: (writer: Writer, value: V) => void,
  get: (reader: Reader) => V,
): Field<V> {
  return {
    number,
    type,
    initial: () => zero,
    omitted: (value) => value === zero,
    write(writer, value) {
      put(writer, value)
      writer.tag(number, type)
    },
    read(reader, wireType) {
      if (wireType !== type) throw new EtcdProtocolError(`etcd message: field ${number} has wire type ${wireType}`)
      return get(reader)
    },
  }
}

/** An int64 that carries a revision, a version or a lease id. */
export function int64(number: number): Field<bigint> {
  return scalar(
    number,
    WireType.VARINT,
    0n,
    (writer, value) => writer.bigVarint(value),
    (reader) => reader.int64(),
  )
}

/** A uint64 that carries an id or a term. */
export function uint64(number: number): Field<bigint> {
  return scalar(
    number,
    WireType.VARINT,
    0n,
    (writer, value) => writer.bigVarint(value),
    (reader) => reader.uint64(),
  )
}

/** An int64 that carries a small amount: a limit, a count, seconds. */
export function int53(number: number): Field<number> {
  return scalar(
    number,
    WireType.VARINT,
    0,
    (writer, value) => writer.varint(value),
    (reader) => reader.int53(),
  )
}

export function bool(number: number): Field<boolean> {
  return scalar(
    number,
    WireType.VARINT,
    false,
    (writer, value) => writer.byte(value ? 1 : 0),
    (reader) => reader.int64() !== 0n,
  )
}

export function string(number: number): Field<string> {
  return scalar(
    number,
    WireType.BYTES,
    '',
    (writer, value) => {
      const before = writer.length
      writer.string(value)
      writer.varint(writer.length - before)
    },
    (reader) => reader.string(),
  )
}

const EMPTY = Buffer.alloc(0)

export function bytes(number: number): Field<Uint8Array> {
  const field = scalar<Uint8Array>(
    number,
    WireType.BYTES,
    EMPTY,
    (writer, value) => {
      writer.bytes(value)
      writer.varint(value.length)
    },
    (reader) => reader.bytes(),
  )
  return { ...field, omitted: (value) => value.length === 0 }
}

/** An enum as words: the index of a word in `words` is its number. */
export function choice<W extends string>(number: number, words: readonly [W, ...W[]]): Field<W> {
  return scalar<W>(
    number,
    WireType.VARINT,
    words[0],
    (writer, value) => {
      const index = words.indexOf(value)
      if (index < 0) throw new TypeError(`'${value}' is not one of ${words.join(', ')}`)
      writer.varint(index)
    },
    (reader) => {
      const index = reader.int53()
      const word = words[index]
      if (word === undefined) throw new EtcdProtocolError(`etcd message: field ${number} has unknown value ${index}`)
      return word
    },
  )
}

/** A member of a oneof: absent is not the same as zero, so a given zero is written. */
export function oneof<V>(field: Field<V>): Field<V | undefined> {
  return {
    number: field.number,
    type: field.type,
    initial: () => undefined,
    omitted: (value) => value === undefined,
    write: (writer, value) => {
      if (value !== undefined) field.write(writer, value)
    },
    read: (reader, wireType) => field.read(reader, wireType),
  }
}

/** Many of a field; numbers may arrive packed. */
export function repeated<V>(one: Field<V>): Field<readonly V[]> {
  return {
    number: one.number,
    type: one.type,
    initial: () => [],
    omitted: (values) => values.length === 0,
    write(writer, values) {
      for (let i = values.length - 1; i >= 0; i--) one.write(writer, values[i] as V)
    },
    read(reader, wireType, before) {
      const values = (before ?? []) as V[]
      const next = (): void => void values.push(one.read(reader, one.type))
      if (wireType === WireType.BYTES && one.type === WireType.VARINT) {
        reader.within(() => {
          while (!reader.done) next()
        })
      } else if (wireType === one.type) next()
      else throw new EtcdProtocolError(`etcd message: field ${one.number} has wire type ${wireType}`)
      return values
    },
  }
}
