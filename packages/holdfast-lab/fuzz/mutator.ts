/** Damages inputs: bits, numbers at the edges, pieces of the format, pieces of other inputs. */
import { Random } from '../src/torture/random.ts'

const EDGES = [0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 512, 1023, 1024, 4_096, 32_767, 32_768]
const WIDE_EDGES = [65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]
const SPELLED = ['-1', '0', '1e9', '9007199254740993', '18446744073709551616', '-9223372036854775808', 'NaN', '']
const LENGTH_MAX = 4_096

type Change = (bytes: Buffer) => Buffer

export class Mutator {
  readonly #random: Random
  readonly #words: readonly Buffer[]
  readonly #changes: readonly Change[]

  constructor(seed: number, words: readonly string[]) {
    this.#random = Random.of(seed, 'mutator')
    this.#words = words.map((word) => Buffer.from(word, 'latin1'))
    this.#changes = [
      (bytes) => this.#flip(bytes),
      (bytes) => this.#set(bytes),
      (bytes) => this.#number(bytes),
      (bytes) => this.#put(bytes, this.#word()),
      (bytes) => this.#put(bytes, this.#word()),
      (bytes) => this.#put(bytes, Buffer.from(this.#random.pick(SPELLED) as string)),
      (bytes) => this.#cut(bytes),
      (bytes) => this.#put(bytes, this.#piece(bytes)),
      (bytes) => bytes.subarray(0, this.#random.whole(0, bytes.length)),
      (bytes) => this.#repeat(bytes),
    ]
  }

  /** A damaged copy of one of them. */
  next(corpus: readonly Buffer[]): Buffer {
    const random = this.#random
    let bytes: Buffer = Buffer.from((random.pick(corpus) as Buffer | undefined) ?? Buffer.alloc(0))
    if (random.chance(0.1)) bytes = this.#splice(bytes, random.pick(corpus) as Buffer)
    for (let left = 2 ** random.whole(0, 4); left > 0; left--) {
      bytes = Buffer.from((random.pick(this.#changes) as Change)(bytes))
    }
    return bytes.subarray(0, LENGTH_MAX)
  }

  #at(bytes: Buffer): number {
    return this.#random.whole(0, Math.max(0, bytes.length - 1))
  }

  #flip(bytes: Buffer): Buffer {
    const at = this.#at(bytes)
    if (bytes.length > 0) bytes[at] = (bytes[at] as number) ^ (1 << this.#random.whole(0, 7))
    return bytes
  }

  #set(bytes: Buffer): Buffer {
    if (bytes.length > 0) bytes[this.#at(bytes)] = this.#random.whole(0, 255)
    return bytes
  }

  #number(bytes: Buffer): Buffer {
    const wide = this.#random.chance(0.5)
    const number = Buffer.alloc(wide ? 4 : this.#random.whole(1, 2))
    const value = this.#random.pick(wide ? [...EDGES, ...WIDE_EDGES] : EDGES) as number
    const negative = this.#random.chance(0.2)
    number.writeUIntBE((negative ? -value >>> 0 : value) % 256 ** number.length, 0, number.length)
    return this.#put(bytes, number)
  }

  #word(): Buffer {
    return this.#random.pick(this.#words) ?? Buffer.from([this.#random.whole(0, 255)])
  }

  /** Put in between, or over what was there. */
  #put(bytes: Buffer, piece: Buffer): Buffer {
    const at = this.#random.whole(0, bytes.length)
    const over = this.#random.chance(0.5) ? piece.length : 0
    return Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + over)])
  }

  #cut(bytes: Buffer): Buffer {
    const at = this.#random.whole(0, bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + this.#random.whole(1, 16))])
  }

  #piece(bytes: Buffer): Buffer {
    const at = this.#random.whole(0, bytes.length)
    return bytes.subarray(at, at + this.#random.whole(1, 32))
  }

  #repeat(bytes: Buffer): Buffer {
    const piece = this.#piece(bytes)
    const times = this.#random.pick([2, 3, 10, 100]) as number
    return this.#put(bytes, Buffer.concat(Array.from({ length: times }, () => piece)))
  }

  #splice(bytes: Buffer, other: Buffer): Buffer {
    const [from, to] = [this.#random.whole(0, bytes.length), this.#random.whole(0, other.length)]
    return Buffer.concat([bytes.subarray(0, from), other.subarray(to)])
  }
}
