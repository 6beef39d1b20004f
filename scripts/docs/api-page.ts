/** The pages of the API: one for each entry of the package, written from the comments of the sources. */
import { type PublicEntry, type PublicName, publicEntries, undocumented } from './api.ts'
import type { Page } from './pages.ts'
import { Slugs } from './slug.ts'

export interface ApiPages {
  readonly pages: readonly Page[]
  readonly faults: readonly string[]
}

const FOLDER = 'docs/reference/api'

export function apiPages(root: string): ApiPages {
  const entries = publicEntries(root)
  return { pages: entries.map(pageOf), faults: undocumented(entries) }
}

const fileOf = (entry: string): string => entry.replace(/\//g, '-')

function pageOf(entry: PublicEntry): Page {
  const file = fileOf(entry.name)
  return {
    path: `${FOLDER}/${file}.md`,
    url: `reference/api/${file}.html`,
    door: 'api',
    group: '',
    title: entry.name,
    text: textOf(entry),
  }
}

function textOf({ name, doc, names }: PublicEntry): string {
  const own = names.filter((each) => each.home === name && each.name !== 'default').sort(byUse)
  const others = names.filter((each) => each.home !== name && each.name !== 'default')
  const isDefault = names.find((each) => each.name === 'default')
  const values = own.filter(({ kind }) => kind === 'function' || kind === 'constant' || kind === 'class')
  const imported = own.find(({ kind }) => kind === 'function') ?? values[0] ?? own[0] ?? others[0]
  const lines = [
    `# ${name}`,
    doc,
    ...(imported === undefined
      ? []
      : [
          '```ts',
          `import ${values.length === 0 && own.length > 0 ? 'type ' : ''}{ ${imported.name} } from '${name}'`,
          '```',
        ]),
    ...(isDefault === undefined ? [] : [`Its default export is \`${nameOfDefault(isDefault, names)}\`.`]),
    ...own.map(sectionOf),
    ...(others.length === 0
      ? []
      : [
          '## Also exported here',
          others.map((each) => `[${each.name}](${fileOf(each.home)}.md#${slug(each.name)})`).join(', '),
        ]),
  ]
  return `${lines
    .join('\n\n')
    .replace(/```ts\n\n/g, '```ts\n')
    .replace(/\n\n```(?=\n|$)/g, '\n```')}\n`
}

/** Functions first, errors last; events, options and types in between. */
const USES = [
  ({ kind }: PublicName) => kind === 'function' || kind === 'constant',
  ({ name, kind }: PublicName) => kind !== 'type' && !/(Options|Event|Events|Error|View)$/.test(name),
  ({ name }: PublicName) => name.endsWith('Options'),
  ({ name }: PublicName) => !/(Event|Events|Error)$/.test(name),
  ({ name }: PublicName) => /Events?$/.test(name),
]

function byUse(a: PublicName, b: PublicName): number {
  const rank = (name: PublicName): number => (USES.findIndex((is) => is(name)) + USES.length + 1) % (USES.length + 1)
  return rank(a) - rank(b) || a.name.localeCompare(b.name)
}

/** The default export under its own name. */
function nameOfDefault(given: PublicName, names: readonly PublicName[]): string {
  return names.find((each) => each.shape === given.shape && each.name !== 'default')?.name ?? shapeName(given)
}

const shapeName = ({ shape }: PublicName): string => /(?:class|function|const) (\w+)/.exec(shape)?.[1] ?? 'default'

const slug = (name: string): string => new Slugs().of(name)

function sectionOf({ name, doc, shape, members, file }: PublicName): string {
  const list = members
    .filter((member) => member.doc !== '')
    .map(({ name: key, doc: text }) => `- **\`${key}\`** ${indented(text)}`)
  return [`## ${name}`, doc, `\`\`\`ts\n${shape}\n\`\`\``, list.join('\n'), `Declared in [${file}](../../../${file}).`]
    .filter((part) => part !== '')
    .join('\n\n')
}

const indented = (text: string): string => text.replace(/\n/g, '\n  ')
