/** A store's URL as it may be shown. */

export function passwordless(url: string): string {
  return url.replace(/^([a-z][a-z0-9+]*:\/\/)([^/?#]*)@/i, (_, scheme: string, user: string) => {
    const name = user.split(':')[0] ?? ''
    return name === '' ? scheme : `${scheme}${name}@`
  })
}
