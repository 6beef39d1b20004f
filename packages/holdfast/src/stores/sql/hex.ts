/** Names travel as bytes in hex where several are in one text: neither server's text takes every character. */
export function hex(name: string): string {
  return Buffer.from(name).toString('hex')
}

export function unhex(text: unknown): string {
  return Buffer.from(String(text), 'hex').toString()
}
