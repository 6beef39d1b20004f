/**
 * What `ps` shows of a command. Every user of the machine can read arguments, so this program hides a password in them
 * as soon as it runs. Until then, some tens of milliseconds, others can read it: HOLDFAST_STORE is the better place.
 */

/** The arguments with stars in place of passwords; null: there are no passwords, so nothing needs to be hidden. */
export function titleOf(args: readonly string[]): string | null {
  // What stands behind `--` is shown by the program that it starts.
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const shown = args.map((arg, i) => (i < end ? masked(arg) : arg))
  return shown.some((arg, i) => arg !== args[i]) ? ['holdfast', ...shown].join(' ') : null
}

/** Up to the last @, because a password may contain an unescaped @. */
function masked(arg: string): string {
  return arg
    .replace(/(\w:\/\/)[^?]*@/g, '$1***@')
    .replace(/((?:%3A|:)(?:%2F|\/){2})[^&]*?(%40|@)/gi, (whole, start: string, at: string) =>
      whole.includes('***') ? whole : `${start}***${at}`,
    )
    .replace(/(password=)[^&]*/gi, '$1***')
}
