/**
 * A network of its own for a client, with one cable to this host. Pulled, it lets nothing through, and nobody
 * acknowledges anything: a proxy's kernel would, so that only here keep-alive and `tcp_user_timeout` of both ends are
 * put to the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { TestbedError } from '../../testbed/error.ts'
import { runTool } from '../../testbed/tool.ts'
import type { NemesisName } from '../nemesis/names.ts'

export interface Cable {
  /** What a program is started by, so that it lives in that network. */
  readonly entrance: readonly [file: string, ...args: string[]]
  pull(): Promise<void>
  plug(): Promise<void>
}

/** Where clients come from, in a server's eyes. Each has four addresses of it. */
export const CABLE_NETWORK = '10.251.0.0/16'

/**
 * In the client's network there is no loopback: 127.0.0.0/8 is reached by the cable, so that every server is where it
 * says it is. $1 and $2: the addresses of host and client.
 */
const FURNISH = `set -e
ip addr add $2/30 dev eth0
ip link set eth0 up
echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
echo 1 > /proc/sys/net/ipv4/conf/eth0/route_localnet
ip route add 127.0.0.0/8 via $1 dev eth0 src $2`

export class Cables {
  readonly #holders: ChildProcess[] = []
  #problem: string | null = null
  #spare: Cable | null = null

  private constructor() {}

  /** Lays one, to see whether it can be done here. */
  static async open(): Promise<Cables> {
    const cables = new Cables()
    if (process.getuid?.() !== 0) cables.#problem = 'only root can make network namespaces'
    else {
      try {
        cables.#spare = await cables.#lay()
      } catch (error) {
        // By a tool that failed or is not there, or by the system: /proc/sys may be read-only.
        if (!(error instanceof TestbedError) && !(error instanceof Error && 'errno' in error)) throw error
        cables.#problem = 'network namespaces can not be made here (ip of iproute2, unshare and nsenter of util-linux)'
      }
    }
    return cables
  }

  get lacks(): Readonly<Partial<Record<NemesisName, string>>> {
    return this.#problem === null ? {} : { unplug: this.#problem }
  }

  async lay(): Promise<Cable> {
    const spare = this.#spare
    this.#spare = null
    return spare ?? this.#lay()
  }

  close(): void {
    for (const holder of this.#holders) holder.stdin?.end()
  }

  /** A namespace goes with its last process, and the cable with the namespace: nothing is left, however we end. */
  async #lay(): Promise<Cable> {
    const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#holders.push(holder)
    // EPIPE, if somebody killed it: the cable is gone then, and the next use of it says so.
    holder.stdin.on('error', () => undefined)
    const heard = new AbortController()
    try {
      const [said] = (await Promise.race([
        once(holder.stdout, 'data', heard),
        once(holder, 'exit', heard),
      ])) as unknown[]
      if (!Buffer.isBuffer(said)) throw new TestbedError(`unshare failed (exit code ${String(said)})`)
    } catch (error) {
      if (error instanceof TestbedError) throw error
      throw new TestbedError('unshare could not be run', { cause: error })
    } finally {
      heard.abort()
    }
    holder.unref()
    const network = `--net=/proc/${holder.pid}/ns/net`
    const name = `hf${process.pid}n${this.#holders.length}`
    await runTool('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(holder.pid)])
    const { host, client } = addresses(Number(await readFile(`/sys/class/net/${name}/ifindex`, 'utf8')))
    await runTool('ip', ['addr', 'add', `${host}/30`, 'dev', name])
    await writeFile(`/proc/sys/net/ipv4/conf/${name}/route_localnet`, '1')
    await runTool('ip', ['link', 'set', name, 'up'])
    await runTool('nsenter', [network, 'sh', '-c', FURNISH, 'sh', host, client])
    const set = async (state: 'up' | 'down'): Promise<void> => {
      await runTool('ip', ['link', 'set', name, state])
    }
    return { entrance: ['nsenter', network], pull: () => set('down'), plug: () => set('up') }
  }
}

/** The kernel numbers interfaces, and gives no number twice at a time: so have the addresses that are made of it. */
function addresses(index: number): { readonly host: string; readonly client: string } {
  const at = (index % 16_384) * 4
  const address = (offset: number): string => `10.251.${at >> 8}.${(at & 255) + offset}`
  return { host: address(1), client: address(2) }
}
