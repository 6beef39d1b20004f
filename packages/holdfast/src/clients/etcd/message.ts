/** A protobuf message declared field by field: plain objects into bytes and back. */
import { EtcdProtocolError } from './errors.ts'
import type { Field } from './field.ts'
import { Reader, WireType, Writer } from './wire.ts'

const NOTHING = Buffer.alloc(0)

/** A field for every property of T. */
export type Fields<T> = { readonly [K in keyof Required<T>]: Field<Required<T>[K]> }

/** A message type: T as bytes, unknown fields skipped, missing ones filled with their zero. */
export class Message<T extends object> {
  readonly #fields: readonly (readonly [name: string, field: Field<unknown>])[]
  readonly #byNumber: ReadonlyMap<number, readonly [name: string, field: Field<unknown>]>

  constructor(fields: Fields<T>) {
    this.#fields = Object.entries(fields as Record<string, Field<unknown>>)
    this.#byNumber = new Map(this.#fields.map((entry) => [entry[1].number, entry]))
  }

  encode(value: Partial<T>): Buffer {
    const writer = new Writer()
    this.write(writer, value)
    return writer.finish()
  }

  decode(bytes: Buffer): T {
    return this.read(new Reader(bytes))
  }

  write(writer: Writer, value: Partial<T>): void {
    const given = value as Record<string, unknown>
    for (let i = this.#fields.length - 1; i >= 0; i--) {
      const [name, field] = this.#fields[i] as readonly [string, Field<unknown>]
      const part = given[name]
      if (part !== undefined && !field.omitted(part)) field.write(writer, part)
    }
  }

  read(reader: Reader): T {
    const value: Record<string, unknown> = {}
    for (const [name, field] of this.#fields) value[name] = field.initial()
    while (!reader.done) {
      const tag = reader.int53()
      const entry = this.#byNumber.get(Math.floor(tag / 8))
      if (tag < 8) throw new EtcdProtocolError(`etcd message: a tag of ${tag}`)
      if (entry === undefined) reader.skip(tag % 8)
      else value[entry[0]] = entry[1].read(reader, tag % 8, value[entry[0]])
    }
    return value as T
  }
}

/**
 * A nested message, absent unless given. If two messages contain each other, a function gives the one that is declared
 * further down.
 */
export function nested<T extends object>(number: number, given: Message<T> | (() => Message<T>)): Field<T | undefined> {
  const messageOf = typeof given === 'function' ? given : (): Message<T> => given
  return {
    number,
    type: WireType.BYTES,
    initial: () => undefined,
    omitted: (value) => value === undefined,
    write(writer, value) {
      if (value === undefined) return
      const before = writer.length
      messageOf().write(writer, value)
      writer.varint(writer.length - before)
      writer.tag(number, WireType.BYTES)
    },
    read(reader, wireType) {
      if (wireType !== WireType.BYTES) {
        throw new EtcdProtocolError(`etcd message: field ${number} has wire type ${wireType}`)
      }
      return reader.within(() => messageOf().read(reader))
    },
  }
}

/** A nested message that etcd always sends; its zero value if etcd didn't. */
export function always<T extends object>(number: number, message: Message<T>): Field<T> {
  const zero = Object.freeze(message.decode(NOTHING))
  return { ...(nested(number, message) as Field<T>), initial: () => zero }
}
