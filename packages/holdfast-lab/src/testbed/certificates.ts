/** Certificates for servers and clients of a testbed, signed by an authority of its own. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runTool } from './tool.ts'

/** Who a server or client is: files for servers, their contents for Node. */
export interface Identity {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  /** What Node's TLS takes. */
  readonly pem: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer }
}

/** Good for a server on loopback, and for a client. */
const EXTENSIONS = 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n'

export class Authority {
  readonly #dir: string
  #made: Promise<void> | undefined

  constructor(dir: string) {
    this.#dir = dir
  }

  /** A key and a certificate for this name; a name is issued once. */
  async issue(name: string): Promise<Identity> {
    await (this.#made ??= this.#make())
    const file = (end: string): string => join(this.#dir, `${name}.${end}`)
    await writeFile(file('ext'), EXTENSIONS)
    const [keyFile, certFile, caFile] = [file('key'), file('pem'), this.#file('ca.pem')]
    await runTool('openssl', [
      ...['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${name}`],
      ...['-keyout', keyFile, '-out', file('csr')],
    ])
    await runTool('openssl', [
      ...['x509', '-req', '-days', '2', '-in', file('csr'), '-out', certFile, '-extfile', file('ext')],
      ...['-CA', caFile, '-CAkey', this.#file('ca.key'), '-CAserial', file('srl'), '-CAcreateserial'],
    ])
    const [ca, cert, key] = await Promise.all([readFile(caFile), readFile(certFile), readFile(keyFile)])
    return { caFile, certFile, keyFile, pem: { ca, cert, key } }
  }

  #file(name: string): string {
    return join(this.#dir, name)
  }

  async #make(): Promise<void> {
    await mkdir(this.#dir, { mode: 0o755 })
    await runTool('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=testbed'],
      ...['-keyout', this.#file('ca.key'), '-out', this.#file('ca.pem')],
    ])
  }
}
