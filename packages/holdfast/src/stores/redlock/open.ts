/** `redlock://h1,h2,h3`. */
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['redlock'],
  settings: ['maxTtlMs', 'quorum', 'nodeTimeoutMs'],
  async open(url, options) {
    const [{ redlock }, { opened }] = await Promise.all([import('./index.ts'), import('../redis/open.ts')])
    return opened((own) => redlock(`${url.scheme}:${url.rest}`, own), options, url.settings)
  },
}
