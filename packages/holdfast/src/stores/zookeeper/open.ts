/** `zookeeper://h1,h2/chroot`, and `zookeepers:` over TLS. */
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['zookeeper', 'zookeepers'],
  settings: ['layout', 'ca', 'cert', 'key'],
  async open(url, options) {
    const [{ zookeeper }, { fromStoreUrl }] = await Promise.all([import('./index.ts'), import('./options.ts')])
    return zookeeper(fromStoreUrl(url, options))
  },
}
