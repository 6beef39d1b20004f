/** The public names of the library with what their comments say, read by the TypeScript compiler. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export interface Member {
  readonly name: string
  readonly doc: string
  readonly isOptional: boolean
}

export interface PublicName {
  readonly name: string
  readonly kind: 'class' | 'interface' | 'type' | 'function' | 'constant'
  readonly doc: string
  /** The declaration without bodies and comments. */
  readonly shape: string
  readonly members: readonly Member[]
  /** The file that declares the name, from the root. */
  readonly file: string
  /** The entry whose page describes the name: the first that exports it. */
  readonly home: string
}

export interface PublicEntry {
  /** What a user imports: `holdfast/fence`. */
  readonly name: string
  /** The comment at the top of its file. */
  readonly doc: string
  readonly names: readonly PublicName[]
}

/**
 * What we use of somebody else's object: a client, a pool, a transaction, a web server. Its own documentation says what
 * its members do.
 */
const FOREIGN = /(Client|Cluster|Pool|Sentinel|Transaction|Database|Sql|Like|Answer)$/

/** Members that mean the same in every type. They are described here, once. */
const PLAIN: Readonly<Record<string, string>> = {
  name: 'Its name.',
  key: 'Its name in the store.',
  id: 'By which the store knows it.',
  lock: 'The name of the lock.',
  line: 'The name of the lock.',
  token: 'The fencing token.',
  host: 'The name of the machine.',
  pid: 'The number of the process.',
  label: 'What the process says of itself, for people.',
  weight: 'How much of the capacity it takes.',
  capacity: 'How much may be held at once: 1 for a mutex.',
  ttlMs: 'The lease.',
  waitedMs: 'How long the caller waited.',
  heldMs: 'How long it was held.',
  error: 'What went wrong.',
}

export function publicEntries(root: string): PublicEntry[] {
  const { entries } = JSON.parse(readFileSync(join(root, 'scripts/entries.json'), 'utf8')) as {
    readonly entries: Record<string, string>
  }
  const files = Object.entries(entries)
    .filter(([name]) => name !== 'internal')
    .map(([name, source]) => ({ name: entryName(name), file: join(root, `packages/holdfast/${source}.ts`) }))
  const program = ts.createProgram(
    files.map(({ file }) => file),
    {
      allowImportingTsExtensions: true,
      module: ts.ModuleKind.NodeNext,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
    },
  )
  const checker = program.getTypeChecker()
  const homes = new Map<ts.Symbol, PublicName>()
  return files.map(({ name: entry, file }) => {
    const source = program.getSourceFile(file) as ts.SourceFile
    const names = checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol).map((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const known = homes.get(symbol) ?? nameOf(exported.name, symbol, entry, checker, root)
      homes.set(symbol, known)
      return exported.name === 'default' && known.name !== 'default' ? { ...known, name: 'default' } : known
    })
    return { name: entry, doc: topComment(source), names: names.toSorted((a, b) => a.name.localeCompare(b.name)) }
  })
}

function entryName(name: string): string {
  return name === 'index' ? 'holdfast' : `holdfast/${name.replace('compat-', 'compat/')}`
}

function nameOf(name: string, symbol: ts.Symbol, home: string, checker: ts.TypeChecker, root: string): PublicName {
  const declarations = (symbol.declarations ?? []).filter((each) => !ts.isModuleDeclaration(each))
  const [first] = declarations
  if (first === undefined) throw new Error(`${home} exports ${name}, which is declared nowhere`)
  return {
    name: name === 'default' ? symbol.name : name,
    kind: kindOf(first),
    doc: docOf(symbol, checker),
    shape: declarations.map(shapeOf).filter(Boolean).join('\n'),
    members: declarations.flatMap((each) => membersOf(each, checker)),
    file: first.getSourceFile().fileName.slice(root.length),
    home,
  }
}

function kindOf(node: ts.Declaration): PublicName['kind'] {
  if (ts.isClassDeclaration(node)) return 'class'
  if (ts.isInterfaceDeclaration(node)) return 'interface'
  if (ts.isTypeAliasDeclaration(node)) return 'type'
  return ts.isFunctionDeclaration(node) ? 'function' : 'constant'
}

function docOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()
  const tags = symbol
    .getJsDocTags(checker)
    .map(({ name, text: parts }) => ({ name, text: ts.displayPartsToString(parts).trim() }))
    .filter(({ name, text }) => name === 'param' && text !== '')
    .map(({ text }) => `- ${text.replace(/^(\S+)\s+(?:- )?/, '`$1`: ')}`)
  return [text, tags.join('\n')].filter((part) => part !== '').join('\n\n')
}

function topComment(source: ts.SourceFile): string {
  const comment = /^\/\*\*([\s\S]*?)\*\//.exec(source.text)?.[1] ?? ''
  return comment.replace(/^\s*\* ?/gm, '').trim()
}

function isPublic(member: ts.Node & { readonly name?: ts.Node | undefined }): boolean {
  const flags = ts.getCombinedModifierFlags(member as ts.Declaration)
  if (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) return false
  return member.name === undefined || !ts.isPrivateIdentifier(member.name)
}

function partsOf(node: ts.Declaration): readonly (ts.ClassElement | ts.TypeElement)[] {
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) return [...node.members].filter(isPublic)
  return ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type) ? [...node.type.members] : []
}

function membersOf(node: ts.Declaration, checker: ts.TypeChecker): Member[] {
  const seen = new Set<string>()
  return partsOf(node).flatMap((part) => {
    const name = part.name?.getText() ?? ''
    // An overload repeats a name. A member without a name is a call, which the comment of the type explains.
    if (name === '' || name.startsWith('[') || seen.has(name)) return []
    seen.add(name)
    const symbol = checker.getSymbolAtLocation(part.name as ts.Node)
    const said = symbol === undefined ? '' : docOf(symbol, checker)
    const plainName = name.replace(/'/g, '')
    const doc = said || ofType(part, checker) || (PLAIN[plainName] ?? '')
    return [{ name: plainName, doc, isOptional: 'questionToken' in part && part.questionToken !== undefined }]
  })
}

/** A member whose type is public (`lost: LostEvent`) is explained by the comment of that type. */
function ofType(part: ts.Node, checker: ts.TypeChecker): string {
  if (!ts.isPropertySignature(part) || part.type === undefined || !ts.isTypeReferenceNode(part.type)) return ''
  const symbol = checker.getSymbolAtLocation(part.type.typeName)
  const type = symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const ours = type?.declarations?.[0]?.getSourceFile().fileName.includes('/packages/holdfast/') === true
  return type !== undefined && ours ? docOf(type, checker) : ''
}

/** The text of a node up to its body or its value. */
function head(
  node: ts.Node & { readonly body?: ts.Node | undefined; readonly initializer?: ts.Node | undefined },
): string {
  const text = node.getText()
  const end = node.body ?? (ts.isParameter(node) ? undefined : node.initializer)
  const upTo = end === undefined ? text : text.slice(0, end.getStart() - node.getStart())
  return withoutComments(upTo.replace(/\s*=?\s*$/, ''))
    .replace(/^(export |default |declare |async |override |public )+/g, '')
    .replace(/;$/, '')
    .trimEnd()
}

function withoutComments(text: string): string {
  return text.replace(/\/\*\*[\s\S]*?\*\/\s*/g, '').replace(/^\s*\/\/.*\n/gm, '')
}

function shapeOf(node: ts.Declaration): string {
  if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
    const text = node.getText()
    const brace = text.indexOf('{', (node.heritageClauses?.end ?? node.name?.end ?? node.getStart()) - node.getStart())
    const opening = withoutComments(text.slice(0, brace))
      .replace(/^(export |default |declare )+/, '')
      .trim()
    const parts = partsOf(node).filter((part) => !bodyOfOverload(part, node))
    return `${opening} {\n${parts.map((part) => `  ${head(part)}`).join('\n')}\n}`
  }
  if (ts.isVariableDeclaration(node)) return `const ${head(node)}`
  if (ts.isFunctionDeclaration(node) && node.body !== undefined) {
    const siblings = node.parent.getChildren().flatMap((child) => child.getChildren())
    const overloads = siblings.filter(
      (each) => ts.isFunctionDeclaration(each) && each.name?.text === node.name?.text && each.body === undefined,
    )
    if (overloads.length > 0) return ''
  }
  return head(node)
}

/** Nobody can call the implementation behind overloads. */
function bodyOfOverload(
  part: ts.Node & { readonly name?: ts.Node | undefined },
  node: ts.ClassLikeDeclaration | ts.InterfaceDeclaration,
): boolean {
  if (!ts.isMethodDeclaration(part) || part.body === undefined) return false
  return [...node.members].some(
    (other) =>
      ts.isMethodDeclaration(other) && other.body === undefined && other.name.getText() === part.name.getText(),
  )
}

/** Public names, and members of them, that have no comment; options that do not say their default. */
export function undocumented(entries: readonly PublicEntry[]): string[] {
  const all = new Map(entries.flatMap(({ names }) => names).map((name) => [`${name.file} ${name.name}`, name]))
  return [...all.values()].flatMap(({ name, doc, members, file }) => {
    const own = FOREIGN.test(name) ? [] : members
    const silent = own.filter((member) => member.doc === '').map((member) => `${member.name} has no comment`)
    const vague = own
      .filter(({ isOptional, doc: text }) => name.endsWith('Options') && isOptional && !/default|either/i.test(text))
      .map((member) => `${member.name} does not say its default`)
    const fault = (what: string): string => `${file}: ${name}.${what}`
    return [
      ...(doc === '' ? [`${file}: ${name} is public and has no comment`] : []),
      ...[...silent, ...vague].map(fault),
    ]
  })
}
