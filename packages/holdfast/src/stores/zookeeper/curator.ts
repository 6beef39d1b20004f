/**
 * The layout of Apache Curator's InterProcessMutex, so that its users and ours exclude each other. It also reads
 * kazoo's locks.
 */
import { UnsupportedError, UsageError } from '../../contract/errors.ts'
import type { Entry } from '../../contract/driver.ts'
import type { Layout, Named } from './layout.ts'
import { REVOKE } from './node-data.ts'

const PLACE = /^_c_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-lock-(-?\d{10,})$/
const UNPROTECTED = /^lock-(-?\d{10,})$/
/**
 * The Lock of kazoo, the Python client. It waits for us if it is told our names, see
 * docs/reference/stores/zookeeper.md.
 */
const KAZOO = /^([0-9a-f]{32})__lock__(-?\d{10,})$/

/** `<line>/_c_<id as a UUID>-lock-<number>`; the line's name is the path that Curator uses. */
export class CuratorLayout implements Layout {
  readonly root = null
  readonly ownsLines = false
  readonly containers = true

  linePath(line: string): string {
    if (!line.startsWith('/') || line.length === 1) {
      throw new UsageError(
        `with Curator's layout a lock's name is its path, such as "/locks/stock"; given ${JSON.stringify(line)}`,
      )
    }
    return line
  }

  lineName(): null {
    return null
  }

  placePath(linePath: string, entry: Entry): string {
    if (entry.capacity !== 1) {
      throw new UnsupportedError(
        "Curator's InterProcessMutex has one holder: no permits and no readers in its layout",
        {
          line: entry.line,
        },
      )
    }
    const id = entry.id
    const uuid = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')
    return `${linePath}/_c_${uuid}-lock-`
  }

  parse(name: string): Named | null {
    const match = PLACE.exec(name)
    if (match !== null) return place(name, (match[1] ?? '').replaceAll('-', ''), match[2])
    const other = UNPROTECTED.exec(name) ?? KAZOO.exec(name)
    return other === null ? null : place(name, name, other.at(-1))
  }

  breakPath(): null {
    return null
  }

  marked(): Buffer {
    return Buffer.from(REVOKE)
  }

  hears(name: string): boolean {
    return !KAZOO.test(name)
  }
}

function place(name: string, id: string, number: string | undefined): Named {
  return { name, id, weight: 1, capacity: 1, order: Number(number) }
}
