/** `etcd://h1,h2`, and `etcds:` over TLS. */
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['etcd', 'etcds'],
  settings: ['layout', 'ca', 'cert', 'key'],
  async open(url, { prefix, connectTimeoutMs }) {
    const { etcd } = await import('./index.ts')
    return etcd({
      url: `${url.scheme}:${url.rest}?${new URLSearchParams(url.settings).toString()}`,
      ...(prefix === undefined ? {} : { prefix }),
      ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
    })
  },
}
