/** User and password, and the token that etcd gives for them: fetched when first needed, renewed when refused. */
import { EtcdError } from './errors.ts'
import { Status } from './status.ts'

/**
 * etcd gives these errors, all before applying anything, if the token is missing, unknown, expired or of an older rule
 * set.
 */
const STALE = /invalid auth token|revision of auth store is old|user name is empty/

/** Whether another token could turn this refusal into success. */
export function wantsToken(error: unknown): boolean {
  if (!(error instanceof EtcdError)) return false
  if (error.status === Status.UNAUTHENTICATED) return true
  return error.status === Status.INVALID_ARGUMENT && STALE.test(error.message)
}

export class Credentials {
  readonly #login: () => Promise<string>
  #token: string | undefined
  #renewal: Promise<string> | undefined

  /** `login` asks etcd for a token. */
  constructor(login: () => Promise<string>) {
    this.#login = login
  }

  /** The token to send; undefined before the first login, empty while authentication is turned off in the cluster. */
  get token(): string | undefined {
    return this.#token
  }

  /** The token was refused: its next user logs in again. */
  forget(refused: string | undefined): void {
    if (this.#token === refused) this.#token = undefined
  }

  /**
   * Gets a token other than `refused`. However many calls are refused at once, one login serves them all. If the
   * refused token has been replaced meanwhile, the caller just gets the new one.
   */
  renew(refused: string | undefined): Promise<string> {
    if (this.#token !== undefined && this.#token !== refused) return Promise.resolve(this.#token)
    this.#renewal ??= this.#renew()
    return this.#renewal
  }

  async #renew(): Promise<string> {
    try {
      this.#token = await this.#login()
    } catch (error) {
      // Authentication is off: go on without a token. Once it is turned on, calls are refused and come back here.
      if (!(error instanceof EtcdError && error.status === Status.FAILED_PRECONDITION)) throw error
      this.#token = ''
    } finally {
      this.#renewal = undefined
    }
    return this.#token
  }
}
