/** Which page is shown: what stands behind the # of the address, so that any path may lie in front of it. */
import { useEffect, useState } from 'preact/hooks'

/** The lock whose page is shown; null: the list. */
export type Route = string | null

export function linkTo(lock: string): string {
  return `#/lock/${encodeURIComponent(lock)}`
}

export function goHome(): void {
  location.hash = '#/'
}

function current(): Route {
  const match = /^#\/lock\/(.+)$/.exec(location.hash)
  if (match === null) return null
  try {
    return decodeURIComponent(match[1] as string)
  } catch {
    return null
  }
}

export function useRoute(): Route {
  const [route, set] = useState(current)
  useEffect(() => {
    const listener = (): void => set(current())
    addEventListener('hashchange', listener)
    return () => removeEventListener('hashchange', listener)
  }, [])
  return route
}
