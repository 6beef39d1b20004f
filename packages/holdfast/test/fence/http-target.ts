/** A number behind an HTTP service whose guard reads the header. */
import { fencedFetch } from '../../src/fence/index.ts'
import type { Target } from './target.ts'

export async function httpTarget(url: string): Promise<Target> {
  return {
    check: async (resource, held) => text(await fencedFetch(held, new URL(encodeURIComponent(resource), url))),
    read: async (held) => Number(await text(await fencedFetch(held, url))),
    write: async (held, value) =>
      void (await text(await fencedFetch(held, url, { method: 'PUT', body: String(value) }))),
    close: async () => undefined,
  }
}

async function text(response: Response): Promise<string> {
  const body = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${body}`)
  return body
}
