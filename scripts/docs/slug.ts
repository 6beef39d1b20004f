/** The name of a heading in an address, as GitHub makes it: the same links work there and on the site. */
export class Slugs {
  readonly #seen = new Map<string, number>()

  of(heading: string): string {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    const times = this.#seen.get(slug) ?? 0
    this.#seen.set(slug, times + 1)
    return times === 0 ? slug : `${slug}-${times}`
  }
}
