/** Tells that a client package is not installed, by its name. */
import { MissingClientError } from '../../contract/errors.ts'

/** What to throw when an import has failed: any other failure of it is passed on as it is. */
export function missingClient(name: string, error: unknown): unknown {
  if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') return error
  return new MissingClientError(`this store needs the package ${name}: npm install ${name}`, { cause: error })
}
