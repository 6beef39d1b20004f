/** docs/reference/options.md, environment.md and cli.md leave nothing out: they are compared with the sources. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../packages/holdfast/src/cli/commands.ts'
import { EXIT } from '../../packages/holdfast/src/cli/exit.ts'
import { STORES } from '../../packages/holdfast/src/stores/registry.ts'
import { ROOT, sourcesOf } from './sources.ts'

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const options = read('docs/reference/options.md')
const environment = read('docs/reference/environment.md')
const source = read('packages/holdfast/src/contract/options.ts')

/** The members of an interface of the options, in the order of the source. */
function membersOf(name: string): string[] {
  const body = new RegExp(`^export interface ${name} .*?\\{\\n(.*?)^\\}`, 'ms').exec(source)?.[1] ?? ''
  return [...body.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, key = '']) => key)
}

function headingsOf(name: string): string[] {
  const section = options.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? ''
  return [...section.matchAll(/^### (\w+)\n\n([\s\S]*?)(?=\n#|$(?![\s\S]))/gm)].map(([, key = '', text]) => {
    expect(text, `${key} has no default`).toMatch(/\*\*Default/)
    return key
  })
}

test.each(['LockOptions', 'HoldfastOptions', 'AcquireOptions'])('every member of %s, and no other', (name) => {
  const members = membersOf(name)
  expect(members.length).toBeGreaterThan(2)
  expect(headingsOf(name).sort()).toEqual(members.sort())
})

test('every variable of the environment that is read', async () => {
  const packages = ['holdfast', 'holdfast-console', 'holdfast-lab', 'holdfast-nest']
  const texts = (await Promise.all(packages.map(sourcesOf))).flat().map(({ text }) => text)
  const direct = texts.flatMap((text) => [...text.matchAll(/\benv(?:\.|\[')([A-Z][A-Z_]+)\b/g)].map(([, name]) => name))
  const taken = texts.flatMap((text) =>
    [...text.matchAll(/\{([^{}]+)\} = env\b/g)].flatMap(([, names = '']) => names.match(/\b[A-Z][A-Z_]+\b/g) ?? []),
  )
  const names = new Set([...direct, ...taken])
  expect(names).toContain('HOLDFAST_STORE')
  expect(names).toContain('HOLDFAST_TOKEN')
  for (const name of names) expect(environment).toMatch(new RegExp(`\`${name}\\b`))
})

test('every scheme of a URL and every setting, beside its store', () => {
  const lines = environment.split(/^- /m)
  for (const { schemes, settings } of STORES) {
    const line = lines.find((text) => text.includes(`\`${schemes[0]}:`)) ?? ''
    for (const scheme of schemes) expect(line).toContain(`\`${scheme}:`)
    // Sentinel has what Redis has, by reference.
    const own = schemes.includes('redis+sentinel') ? settings.filter((key) => key.startsWith('sentinel')) : settings
    for (const setting of own) expect(line, schemes[0]).toContain(`\`${setting}\``)
  }
})

test('every command of the command line', () => {
  for (const name of Object.keys(COMMANDS)) expect(read('docs/reference/cli.md')).toContain(`\n    holdfast ${name} `)
})

test('every exit code', () => {
  for (const code of Object.values(EXIT)) expect(environment).toContain(`\n- **${code}**: `)
})
