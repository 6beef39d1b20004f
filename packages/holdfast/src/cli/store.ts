/** Which store a command works on. */
import { resolve } from 'node:path'
import { defaultPath } from '../stores/sqlite/default-path.ts'
import type { Holdfast } from '../holdfast.ts'
import type { Given } from './args.ts'
import { orRefused } from './refused.ts'

/** The option --store, else the environment, else a file of this user. */
export function storeUrl(given: Given, env: NodeJS.ProcessEnv = process.env): string {
  const asked = given.values.get('store') ?? env.HOLDFAST_STORE ?? ''
  return asked === '' ? `sqlite:${inUrl(defaultPath(env))}` : asked
}

/** A path as it stands in a URL: characters that would begin an escape, a query or a fragment are escaped. */
function inUrl(path: string): string {
  return path.replace(/[%?#]/g, encodeURIComponent)
}

/** The URL in the form in which a program may get it: without any password, and right from any folder. */
export function publicUrl(url: string, cwd: string = process.cwd()): string {
  const [start = '', query] = url.split(/\?(.*)/s)
  const shown = (query ?? '').split('&').flatMap((item) => {
    const [key = '', value = ''] = item.split(/=(.*)/s)
    if (/password$/i.test(key)) return []
    // A URL inside the URL, such as listenUrl.
    return /(:|%3A)(\/|%2F){2}/i.test(value) ? [`${key}=${encodeURIComponent(withoutPassword(decode(value)))}`] : [item]
  })
  const open = withoutPassword(start) + (shown.join('') === '' ? '' : `?${shown.join('&')}`)
  return open.replace(/^(sqlite:)([^?#]+)/i, (_, scheme: string, path: string) => scheme + resolve(inUrl(cwd), path))
}

function withoutPassword(url: string): string {
  return url.replace(
    /^([a-z][a-z0-9+]*:\/\/)([^/?#]*)@/i,
    (_, scheme: string, user: string) => scheme + (user.split(':')[0] === '' ? '' : `${user.split(':')[0]}@`),
  )
}

function decode(text: string): string {
  return new URLSearchParams(`a=${text}`).get('a') ?? ''
}

/** The value that the URL itself gives an option; null: none. */
export function urlOption(url: string, name: string): string | null {
  const query = url.indexOf('?')
  return query < 0 ? null : new URLSearchParams(url.slice(query)).get(name)
}

/** Opens the store for one look or deed, and closes it whether that succeeds or fails. */
export async function withStore<T>(given: Given, fn: (hf: Holdfast) => Promise<T>): Promise<T> {
  const { holdfast } = await import('../open.ts')
  const url = storeUrl(given)
  const hf = await orRefused(url, () => holdfast(url))
  try {
    return await fn(hf)
  } finally {
    await hf.close()
  }
}
