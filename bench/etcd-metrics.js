/** How many requests an etcd member has answered, by its own count. */

/** @typedef {{ requests: number, watchMessages: number, keepAlives: number }} EtcdCounts */

const LINE =
  /^grpc_server_(started|msg_received)_total\{grpc_method="(\w+)",grpc_service="etcdserverpb\.(\w+)",.*\} (.+)$/

/** @param {string} url `etcd://host:port`; of several members the first @returns {Promise<EtcdCounts>} */
export async function etcdCounts(url) {
  const member = url.replace('etcd://', 'http://').split(',')[0]
  const text = await (await fetch(`${member}/metrics`, { headers: { connection: 'close' } })).text()
  const counts = { requests: 0, watchMessages: 0, keepAlives: 0 }
  for (const line of text.split('\n')) {
    const [, what, method, service, value] = LINE.exec(line) ?? []
    if (what === 'started' && (service === 'KV' || service === 'Lease') && method !== 'LeaseKeepAlive') {
      counts.requests += Number(value)
    } else if (what === 'msg_received' && method === 'Watch') counts.watchMessages += Number(value)
    else if (what === 'msg_received' && method === 'LeaseKeepAlive') counts.keepAlives += Number(value)
  }
  return counts
}
