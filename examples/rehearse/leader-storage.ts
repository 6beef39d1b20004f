/**
 * A leader keeps a manifest in object storage. Rehearse it:
 * `npx holdfast-lab rehearse examples/rehearse/leader-storage.ts`
 * The broken form puts the manifest whatever stands there. The mended one uses what such storage has for this: the put
 * is done only if the object is still the one that was read (`If-Match`).
 */
import type { Holdfast } from 'holdfast'
import type { Rehearsable, Remote } from 'holdfast-lab/rehearse'

interface Stored {
  readonly etag: string
  readonly body: string
}

/** The part of S3 that this needs: one bucket, entity tags, conditional puts. */
export class Bucket {
  readonly #objects = new Map<string, Stored>()
  #puts = 0

  get(key: string): Stored | null {
    return this.#objects.get(key) ?? null
  }

  /** `ifMatch` null: only if there is no such object. */
  put(key: string, body: string, ifMatch?: string | null): string {
    const etag = this.#objects.get(key)?.etag ?? null
    if (ifMatch !== undefined && ifMatch !== etag) throw new Error('412 Precondition Failed')
    const stored = { etag: `"${++this.#puts}"`, body }
    this.#objects.set(key, stored)
    return stored.etag
  }
}

async function addBroken(hf: Holdfast, bucket: Remote<Bucket>, file: string): Promise<void> {
  const held = await hf.election('compactor').campaign()
  const manifest = await bucket.get('manifest')
  held.assertHeld() // narrows the gap, and does not close it
  await bucket.put('manifest', `${manifest?.body ?? ''}${file} `)
  await held.release()
}

async function add(hf: Holdfast, bucket: Remote<Bucket>, file: string): Promise<void> {
  const held = await hf.election('compactor').campaign()
  const manifest = await bucket.get('manifest')
  held.assertHeld()
  await bucket.put('manifest', `${manifest?.body ?? ''}${file} `, manifest?.etag ?? null)
  await held.release()
}

const storage = { resource: () => new Bucket(), reads: ['get'] }

export const broken: Rehearsable<Bucket> = {
  ...storage,
  run: ({ hf, resource, who }) => addBroken(hf, resource, `${who}.parquet`),
}
export const mended: Rehearsable<Bucket> = {
  ...storage,
  run: ({ hf, resource, who }) => add(hf, resource, `${who}.parquet`),
}
