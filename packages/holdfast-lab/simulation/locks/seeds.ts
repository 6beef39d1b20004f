/** Which seeds a simulation is to run, from its command line. */

export interface Seeds {
  readonly from: number
  readonly to: number
}

/** `--seed 17` or `--seeds 1..2000`; without either, so many fresh ones. */
export function readSeeds(args: readonly string[], fresh: number): Seeds {
  const seed = valueOf(args, '--seed')
  if (seed !== undefined) return { from: Number(seed), to: Number(seed) }
  const seeds = /^(\d+)\.\.(\d+)$/.exec(valueOf(args, '--seeds') ?? '')
  if (seeds !== null) return { from: Number(seeds[1]), to: Number(seeds[2]) }
  const from = 1_000_000 + Math.floor(Math.random() * 1_000_000_000)
  return { from, to: from + fresh - 1 }
}

/** What stands behind an option. */
export function valueOf(args: readonly string[], option: string): string | undefined {
  return args[args.indexOf(option) + 1 || args.length]
}

/** Prints what is noted, with its time. */
export function printNote(at: number, what: string): void {
  process.stdout.write(`${at.toFixed(1).padStart(10)} ${what}\n`)
}

/** A rejection that nobody handles is a fault of the library. */
export function failOnUnhandled(): void {
  process.on('unhandledRejection', (reason) => {
    process.stderr.write(`a rejection was left unhandled: ${String(reason)}\n`)
    process.exit(1)
  })
}
