/** `sqlite:` (the file that all processes of this user share) and `sqlite:PATH`. */
import { shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['sqlite'],
  settings: [],
  async open(url, { prefix }) {
    const { sqlite } = await import('./index.ts')
    const path = url.rest === '' ? {} : { path: decodePath(url.rest) }
    const driver = sqlite({ ...path, ...(prefix === undefined ? {} : { prefix }) })
    // Open now, not at the first lock: then whoever named a file that can't be used gets the error.
    await driver.setup()
    return driver
  },
}

/** `sqlite:/abs/path.db`, `sqlite:rel.db`, and `sqlite:///abs/path.db` as a URL object may print it. */
function decodePath(rest: string): string {
  try {
    return decodeURIComponent(rest.replace(/^\/\/(?=\/)/, ''))
  } catch (error) {
    if (error instanceof URIError) throw new UsageError(`the path in ${shown(`sqlite:${rest}`)} has a wrong %-escape`)
    throw error
  }
}
