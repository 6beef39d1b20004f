/** The types of audit.js, for its test. */

export interface LockedPackage {
  readonly version?: string | undefined
  readonly resolved?: string | undefined
  readonly integrity?: string | undefined
  readonly license?: string | undefined
  readonly link?: boolean
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly hasInstallScript?: boolean
  readonly devDependencies?: Readonly<Record<string, string>>
}

export function judgeLock(packages: Readonly<Record<string, LockedPackage>>): string[]
export function judgeAudit(said: string): { readonly asked: boolean; readonly found: string[] }
