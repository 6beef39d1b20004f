/** A crowd of readers of this process: each is a visit of its own. */
import type { Readers } from '../generator/errand.ts'
import { pause, type Visitor } from './visitor.ts'

export async function runReaders(visitor: Visitor, { line, readers }: Readers): Promise<void> {
  const read = async ({ afterMs, waitMs, stayMs }: Readers['readers'][number]): Promise<void> => {
    await pause(afterMs, visitor.stop)
    if (visitor.stop.aborted) return
    await visitor.visit({ line, exclusive: false, weight: 1, waitMs, stayMs }, 'readers')
  }
  await Promise.all(readers.map(read))
}
