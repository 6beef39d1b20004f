/**
 * What `ps` shows of a command. Arguments can be read by every user of the machine, so a password in them is hidden as
 * soon as this program runs. Until then, some tens of milliseconds, it can be read: HOLDFAST_STORE is the better place.
 */

/** The arguments with stars in place of passwords; null: there are none, and nothing needs to be hidden. */
export function titleOf(args: readonly string[]): string | null {
  // What stands behind `--` is another program's, which is shown by itself.
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const shown = args.map((arg, i) => (i < end ? masked(arg) : arg))
  return shown.some((arg, i) => arg !== args[i]) ? ['holdfast', ...shown].join(' ') : null
}

/** Up to the last @: a password may have one that is not escaped. */
function masked(arg: string): string {
  return arg
    .replace(/(\w:\/\/)[^?]*@/g, '$1***@')
    .replace(/((?:%3A|:)(?:%2F|\/){2})[^&]*?(%40|@)/gi, (whole, start: string, at: string) =>
      whole.includes('***') ? whole : `${start}***${at}`,
    )
    .replace(/(password=)[^&]*/gi, '$1***')
}
