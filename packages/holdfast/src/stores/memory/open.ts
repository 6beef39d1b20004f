/** `memory:` and `memory:NAME`. */
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['memory'],
  settings: [],
  async open(url, { prefix }) {
    const { memory } = await import('./index.ts')
    return memory({ ...(url.rest === '' ? {} : { name: url.rest }), ...(prefix === undefined ? {} : { prefix }) })
  },
}
