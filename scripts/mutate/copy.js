/** A copy of the working tree in which one mutation after another is made, built and taken back. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import { refusal } from './table.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** @typedef {Awaited<ReturnType<typeof copyOfTree>>} Copy */

/** The files that git tracks, and those that it would track, as they are now. */
export async function copyOfTree() {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-mutate-'))
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  for (const name of list.toString().split('\0')) {
    if (name !== '' && existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(path, name))
  }
  linkPackages(path)
  const embed = () => execFileSync(process.execPath, ['scripts/embed.js'], { cwd: path })
  embed()
  const { stampBuild: stamp } = await import(pathToFileURL(join(path, 'scripts/built.js')).href)
  // The laboratory's programs must run the library of the copy.
  const compilers = ['holdfast', 'holdfast-lab'].map((name) => compilerAt(path, name))
  /** @type {Map<string, string>} What the mutated files were before. */
  const before = new Map()

  return {
    path,
    /**
     * Makes the edits of a mutation; says why if it can't.
     * @param {import('./table.js').Mutation} mutation
     */
    apply({ edits }) {
      for (const edit of edits) {
        const refused = refusal(path, edit)
        if (refused !== null) return refused
        const file = join(path, edit.file)
        const text = readFileSync(file, 'utf8')
        if (!before.has(file)) before.set(file, text)
        writeFileSync(
          file,
          text.replace(edit.find, () => edit.replace),
        )
      }
      embed()
      return null
    },
    restore() {
      for (const [file, text] of before) writeFileSync(file, text)
      before.clear()
      embed()
    },
    /**
     * Errors of the compiler in the mutated files: if the product does not compile, no test has caught anything.
     */
    faults() {
      const mutated = [...before.keys()].filter((file) => file.endsWith('.ts'))
      const said = compilers.flatMap((compiler) => compiler.faults(mutated) ?? [])
      return said.length === 0 ? null : said.join('; ')
    },
    /** Brings build and dist up to the sources. */
    build() {
      for (const compiler of compilers) compiler.build()
      execFileSync(process.execPath, ['scripts/bundle.js', '--no-types', '--not-shortened'], { cwd: path })
      stamp()
    },
    remove() {
      rmSync(path, { recursive: true, force: true })
    },
  }
}

/**
 * The packages that are installed, but of our own ones the copies: a mutated library must not be tested by way of the
 * real one.
 * @param {string} path
 */
function linkPackages(path) {
  const [from, to] = [join(ROOT, 'node_modules'), join(path, 'node_modules')]
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    const isOurs = existsSync(join(path, 'packages', name))
    symlinkSync(isOurs ? join(path, 'packages', name) : join(from, name), join(to, name))
  }
}

/**
 * Compiles what changed since the last time, and that only: a mutation is one line, a whole build is ten seconds.
 * @param {string} root
 * @param {string} name of the package
 */
function compilerAt(root, name) {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'packages', name, 'tsconfig.build.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  )
  if (config === undefined) throw new Error(`tsconfig.build.json of ${name} cannot be read`)
  const files = config.fileNames
  const text = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)
  // Files of packages never change here, so they are read once.
  const version = (file) => (file.includes('/node_modules/') ? '1' : (text(file) ?? ''))
  const service = ts.createLanguageService({
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath,
    useCaseSensitiveFileNames: () => true,
    getCompilationSettings: () => ({ ...config.options, noUnusedLocals: false, noUnusedParameters: false }),
    getScriptFileNames: () => files,
    getScriptVersion: version,
    getScriptSnapshot: (file) => {
      const found = text(file)
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  })
  /** @type {Map<string, string>} The text of each file that build was made of. */
  const built = new Map()
  return {
    build() {
      for (const file of files) {
        const now = version(file)
        if (built.get(file) === now) continue
        for (const { name: path, text: emitted } of service.getEmitOutput(file).outputFiles) {
          mkdirSync(dirname(path), { recursive: true })
          writeFileSync(path, emitted)
        }
        built.set(file, now)
      }
    },
    /** @param {readonly string[]} mutated */
    faults(mutated) {
      const said = mutated
        .filter((file) => files.includes(file))
        .flatMap((file) => [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)])
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
      return said.length === 0 ? null : said.join('; ')
    },
  }
}

/** @param {import('typescript').Diagnostic} diagnostic */
function fail({ messageText }) {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '))
}
