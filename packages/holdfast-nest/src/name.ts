/** Makes the name of a lock from the arguments of a method. */
import { UsageError } from 'holdfast'

/** `stock:{id}` and `stock:{0}`. A missing argument is an error, because otherwise all calls would share one lock. */
export function lockName(template: string): (args: readonly unknown[]) => string {
  return (args) =>
    template.replaceAll(/\{(\w+)\}/g, (hole, member: string) => {
      const value = /^\d+$/.test(member) ? args[Number(member)] : memberOf(args, member)
      if (['string', 'number', 'bigint'].includes(typeof value)) return String(value)
      throw new UsageError(`@Locked(${JSON.stringify(template)}): no argument gives a string or number for ${hole}`)
    })
}

function memberOf(args: readonly unknown[], member: string): unknown {
  const owner = args.find((arg) => typeof arg === 'object' && arg !== null && member in arg)
  return (owner as Record<string, unknown> | undefined)?.[member]
}
