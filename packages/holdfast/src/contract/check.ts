/** Refuses bad input before any I/O. Each error says what was given and what is allowed. */
import { UsageError } from './errors.ts'

/** A value as an error message may show it: short, and on one line. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return String(value)
}

/**
 * Checks the name of a line or the key of a cell: 1 to 512 bytes of well-formed UTF-8. A name from which longer names
 * are built must be shorter.
 */
export function checkName(what: string, name: unknown, maxBytes = 512): string {
  if (typeof name !== 'string') throw new UsageError(`${what} must be a string, given ${shown(name)}`)
  if (!isWellFormed(name)) {
    throw new UsageError(`${what} must be well-formed Unicode (it has a lone surrogate), given ${shown(name)}`)
  }
  const bytes = Buffer.byteLength(name)
  if (bytes < 1 || bytes > maxBytes) {
    throw new UsageError(`${what} must be 1 to ${maxBytes} bytes of UTF-8, given ${bytes} bytes: ${shown(name)}`)
  }
  return name
}

// Every Node that we run on has String.prototype.isWellFormed; the ES2023 library types do not.
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}

export function checkWhole(what: string, value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new UsageError(`${what} must be a whole number from ${min} to ${max}, given ${shown(value)}`)
  }
  return value
}

/** Checks a time. Infinity is allowed; NaN and negative numbers are not. */
export function checkSpan(what: string, value: unknown, min = 0): number {
  if (typeof value !== 'number' || !(value >= min)) {
    throw new UsageError(
      `${what} must be a number of milliseconds, at least ${min}, or Infinity, given ${shown(value)}`,
    )
  }
  return value
}

export function checkOneOf<T extends string>(what: string, value: unknown, allowed: readonly T[]): T {
  if (!allowed.includes(value as T)) {
    throw new UsageError(`${what} must be one of ${allowed.join(', ')}, given ${shown(value)}`)
  }
  return value as T
}

export function checkBoolean(what: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new UsageError(`${what} must be true or false, given ${shown(value)}`)
  return value
}

export function checkFunction<T>(what: string, value: T): T {
  if (typeof value !== 'function') throw new UsageError(`${what} must be a function, given ${shown(value)}`)
  return value
}

export function checkText(what: string, value: unknown, maxBytes: number): string {
  if (typeof value !== 'string' || !isWellFormed(value) || Buffer.byteLength(value) > maxBytes) {
    throw new UsageError(`${what} must be well-formed text of at most ${maxBytes} bytes, given ${shown(value)}`)
  }
  return value
}

/** Checks that an options object has only allowed members. undefined counts as an empty object. */
export function checkKeys(what: string, value: unknown, allowed: readonly string[]): Record<string, unknown> {
  if (value === undefined) return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`${what} must be an object, given ${shown(value)}`)
  }
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) {
      throw new UsageError(`${what} has no option ${shown(key)}; there are ${allowed.join(', ')}`)
    }
  }
  return value as Record<string, unknown>
}
