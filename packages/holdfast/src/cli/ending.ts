/** The end of a command that otherwise goes on for ever: a key or a signal asks for it. */
import { signalExit } from './exit.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

export class Ending {
  readonly #controller = new AbortController()
  #exit: number | null = null

  /** Does the work, and returns its exit code; 128+n if a signal has ended it. */
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

  /** Aborts when the command must end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(): void {
    this.#controller.abort()
  }
}
