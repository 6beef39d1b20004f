/** Makes ids as fast as it can, in the child, and then looks for any that came twice. */

const IDS_PER_LOOK = 256
const CHECKED = 300_000

/** @param {import('../adapter.ts').Client} client @param {{ warmMs: number, windowMs: number }} params */
export async function measure(client, { warmMs, windowMs }) {
  const maker = await client.ids?.()
  if (maker === undefined) throw new Error('this adapter makes no ids')
  await spin(maker, warmMs)
  const cpu = process.cpuUsage()
  const { made, tookMs } = await spin(maker, windowMs)
  const { user, system } = process.cpuUsage(cpu)
  return {
    idsPerS: (made / tookMs) * 1_000,
    cpuUsPerId: (user + system) / made,
    repeated: await repeated(maker),
  }
}

/** @param {import('../adapter.ts').IdMaker} maker @param {number} windowMs */
async function spin(maker, windowMs) {
  const started = performance.now()
  let made = 0
  while (performance.now() - started < windowMs) {
    for (let i = 0; i < IDS_PER_LOOK; i++) if (maker.next() === null) await maker.wait()
    made += IDS_PER_LOOK
  }
  return { made, tookMs: performance.now() - started }
}

/** Ids are kept as they come, and compared afterwards. @param {import('../adapter.ts').IdMaker} maker */
async function repeated(maker) {
  const ids = []
  for (let i = 0; i < CHECKED; i++) ids.push(maker.next() ?? (await maker.wait()))
  return CHECKED - new Set(ids.map((id) => (Buffer.isBuffer(id) ? id.toString('hex') : id))).size
}
