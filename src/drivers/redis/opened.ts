/** How a store on Redis servers is opened by its URL: connected and looked at, so that what can't work is said at once. */
import { UsageError } from '../../core/errors.ts'
import type { HoldfastOptions } from '../../core/options.ts'

interface Openable {
  open(): Promise<void>
  close(): Promise<void>
}

/**
 * `make` gets the options of both the instance and the URL's query.
 * @param settings what stands in the query besides options of Holdfast: src/open.ts knows which there may be, and all are numbers.
 */
export async function opened<D extends Openable>(
  make: (options: { readonly prefix?: string; readonly connectTimeoutMs?: number }) => D,
  { prefix, connectTimeoutMs }: HoldfastOptions,
  settings: Readonly<Record<string, string>>,
): Promise<D> {
  const driver = make({
    ...(prefix === undefined ? {} : { prefix }),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...Object.fromEntries(Object.entries(settings).map(([key, text]) => [key, wholeOf(key, text)])),
  })
  try {
    await driver.open()
  } catch (error) {
    await driver.close()
    throw error
  }
  return driver
}

function wholeOf(key: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${key} in the store URL must be a whole number, given ${JSON.stringify(text)}`)
}
