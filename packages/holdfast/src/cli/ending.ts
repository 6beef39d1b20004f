/** The end of a command that otherwise goes on for ever: somebody asks for it, by a key or by a signal. */
import { signalExit } from './exit.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export class Ending {
  readonly #controller = new AbortController()
  #exit: number | null = null

  /** Does the work, and answers its exit code; 128+n when a signal has ended it. */
  static async use(work: (ending: Ending) => Promise<number>): Promise<number> {
    const ending = new Ending()
    const listeners = SIGNALS.map((signal) => {
      const came = (): void => {
        ending.#exit ??= signalExit(signal)
        ending.end()
      }
      process.on(signal, came)
      return () => process.off(signal, came)
    })
    try {
      const exit = await work(ending)
      return ending.#exit ?? exit
    } finally {
      for (const unlisten of listeners) unlisten()
    }
  }

  /** Aborts when the command is to end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#controller.abort()
  }
}
