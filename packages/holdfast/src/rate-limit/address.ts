/**
 * Which client an address stands for. An IPv6 host has 2^64 addresses and more, so a limit on one address limits
 * nobody.
 */
import { isIPv4, isIPv6 } from 'node:net'

/**
 * The network to count: an IPv4 address as it is, even if it came as IPv6 (::ffff:1.2.3.4); of an IPv6 address the
 * first `bits`.
 */
export function network(address: string, bits: number): string {
  const bare = address.split('%')[0] as string
  if (!isIPv6(bare)) return address
  const groups = groupsOf(bare)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high, low] = groups.slice(6) as [number, number]
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const kept = groups.map((group, i) => group & maskOf(bits - i * 16))
  const text = kept.map((group) => group.toString(16)).join(':')
  return bits === 128 ? text : `${text}/${bits}`
}

/** The mask of one group of 16 bits, of which the first `bits` count. */
function maskOf(bits: number): number {
  return bits >= 16 ? 0xffff : bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const first = partsOf(head)
  if (tail === undefined) return first
  const last = partsOf(tail)
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
}

function partsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!isIPv4(part)) return [Number.parseInt(part, 16)]
    const [a, b, c, d] = part.split('.').map(Number) as [number, number, number, number]
    return [a * 256 + b, c * 256 + d]
  })
}
