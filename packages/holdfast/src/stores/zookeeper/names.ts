/** Any name as one segment of a ZooKeeper path, and back. */

/** Only the dot needs more than a URI does: `.` and `..` are no segments. */
export function escapeName(name: string): string {
  return encodeURIComponent(name).replaceAll('.', '%2E')
}

/** null: no name of ours is written like that. */
export function unescapeName(segment: string): string | null {
  try {
    const name = decodeURIComponent(segment)
    // Another program's node may decode to the same name as ours, so only our own way of writing a name counts.
    return escapeName(name) === segment ? name : null
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}
