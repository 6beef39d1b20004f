/** Headers of requests: the token that a guard reads, the address or key that a rate limit counts. */
import { validateHeaderValue } from 'node:http'
import { isIPv6 } from 'node:net'
import { httpGuard } from '../../../holdfast/src/fence/http/guard.ts'
import { requestProof } from '../../../holdfast/src/fence/http/header.ts'
import { readStale } from '../../../holdfast/src/fence/http/problem.ts'
import { formatProof, parseProof } from '../../../holdfast/src/fence/proof.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import { holdfast } from '../../../holdfast/src/open.ts'
import { network } from '../../../holdfast/src/rate-limit/address.ts'
import { fieldsOf } from '../../../holdfast/src/rate-limit/fields.ts'
import { gate } from '../../../holdfast/src/rate-limit/gate.ts'
import { attempt, Fault, type Target, textOf } from '../target.ts'

interface Asked {
  readonly headers: Readonly<Record<string, string>>
}

const guard = httpGuard<Asked>({ resource: (request) => request.headers.resource as string, resourcesMax: 100 })
const guarded = guard.fetch(() => new Response('done'))
let hf: Holdfast

async function limited(text: string): Promise<void> {
  const limiter = hf.limiter('api', { limit: 1_000_000, perMs: 1_000 })
  const decide = gate<string>(limiter, { key: (request) => request }, null)
  const { fields } = await decide(text)
  for (const [name, value] of Object.entries(fields)) validateHeaderValue(name, value)
  // A limiter may be named after a tenant: its name stands in a header of the answer.
  const named = { ...limiter, name: text.replaceAll('\ud800', '?'), limit: 5, perMs: 700, burst: 5 }
  for (const [name, value] of Object.entries(fieldsOf(named, await limiter.look('k')))) validateHeaderValue(name, value)
}

async function checked(text: string): Promise<void> {
  const response = await guarded({ headers: { 'holdfast-token': text, resource: text } })
  const document = response.status === 200 ? null : ((await response.json()) as unknown)
  if (![200, 400, 409].includes(response.status)) throw new Fault(`a guard answered ${response.status}`)
  readStale(document, 'x')
}

export const headers: Target = {
  name: 'headers',
  says: 'headers of guards and rate limits',
  seeds: [
    '1792; place=0123456789abcdef; line=stock%3A42',
    '9223372036854775807; place=ffffffffffffffff; line=a',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    '2001:db8::1',
    '203.0.113.9',
  ].map((text) => Buffer.from(text)),
  words: ['; ', 'place=', 'line=', '%', '%00', '%ff', '::', ':', 'ffff', '0', '/64', '\r\n', 'é', ','],
  async open() {
    hf = await holdfast('memory:')
  },
  async run(input) {
    const text = textOf(input)
    const proof = attempt(() => parseProof(text))
    if (proof !== undefined && parseProof(formatProof(proof)).token !== proof.token) throw new Fault('a proof changes')
    attempt(() => requestProof({ headers: { 'holdfast-token': [text, text] } }))
    const bits = ((input[0] ?? 0) % 128) + 1
    const of = network(text, bits)
    if (isIPv6(text) && network(of.split('/')[0] as string, bits) !== of) throw new Fault(`${of} is not one network`)
    await checked(text)
    await limited(text)
  },
  close: () => hf.close(),
}
