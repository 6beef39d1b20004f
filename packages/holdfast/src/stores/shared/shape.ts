/** Says what a value looks like that should have been something else, for an error. */
import { shown } from '../../contract/check.ts'

export function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return shown(value)
  const { name } = typeof value === 'function' ? value : (value.constructor ?? Object)
  if (typeof value === 'function') return name === '' ? 'a function' : `a function named ${shown(name)}`
  return name === 'Object' || name === '' ? 'an object' : `an object of class ${name.slice(0, 80)}`
}

/** Whether the value has all these methods. */
export function hasMethods(value: unknown, ...methods: readonly string[]): value is object {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}
