/** Locks of other programs, each in a process of its own that is told by lines on stdin what to do. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const JARS = [
  ...['curator-recipes', 'curator-framework', 'curator-client', 'zookeeper', 'zookeeper-jute', 'guava'],
  // Exactly one binding of slf4j, the silent one: what the peer says is its answers only.
  ...['slf4j-api', 'slf4j-nop'],
].map((name) => `/usr/share/java/${name}.jar`)

/** What it locks: a path of these servers, by a session of that length. */
export interface Foreign {
  readonly servers: readonly string[]
  readonly path: string
  readonly sessionMs: number
}

export class ForeignPeer {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: Interface

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args)
    this.#lines = createInterface({ input: this.#child.stdout })
  }

  async says(): Promise<string> {
    const [line] = (await once(this.#lines, 'line')) as [string]
    return line
  }

  ask(word: 'acquire' | 'try' | 'release'): Promise<string> {
    const answer = this.says()
    this.#child.stdin.write(`${word}\n`)
    return answer
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}

/** Apache Curator, by a few lines of Java that are compiled first. */
export class Curator implements Disposable {
  readonly #classes = mkdtempSync(join(tmpdir(), 'hf-curator-'))

  constructor() {
    const source = fileURLToPath(new URL('CuratorPeer.java', import.meta.url))
    const args = ['-J-XX:TieredStopAtLevel=1', '-cp', JARS.join(':'), '-d', this.#classes, source]
    execFileSync('javac', args, { stdio: 'pipe' })
  }

  peer({ servers, path, sessionMs }: Foreign, kind: 'mutex' | 'read' | 'write' = 'mutex'): ForeignPeer {
    const java = ['-Xmx64m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', [this.#classes, ...JARS].join(':')]
    return new ForeignPeer('java', [...java, 'CuratorPeer', servers.join(','), path, String(sessionMs), kind])
  }

  [Symbol.dispose](): void {
    rmSync(this.#classes, { recursive: true, force: true })
  }
}

/** kazoo, by Debian's own Python: another python3 on the path does not see its packages. */
export function kazoo(
  { servers, path, sessionMs }: Foreign,
  kind: 'lock' | 'read' | 'semaphore' = 'lock',
): ForeignPeer {
  const script = fileURLToPath(new URL('kazoo_peer.py', import.meta.url))
  return new ForeignPeer('/usr/bin/python3', [script, servers.join(','), path, kind, String(sessionMs / 1_000)])
}
