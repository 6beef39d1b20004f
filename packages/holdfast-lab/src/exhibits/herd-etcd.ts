/** The herd on etcd: all watch the one key, and all try to create it when it goes. */
import { etcd } from 'holdfast/etcd'
import { addresses, etcdClient, etcdServers } from '../lab/ensembles.ts'
import type { Exhibit } from '../lab/exhibit.ts'
import { fixedKeyAct, lineAct } from '../lab/herd.ts'

export const herdEtcd: Exhibit = {
  name: 'herd-etcd',
  title: 'the herd on etcd: 50 watch one key',
  recipe: 'Txn: IF create_revision(lock) = 0 THEN put(lock); else watch lock, and try again when it is deleted',
  source: 'the course on etcd names it as one of two ways and leaves the judgement as an exercise',
  lesson: 'Keys of one prefix, and each watches the one before it: then a release wakes one.',
  servers: ['etcd'],
  kind: 'statistical',
  async run(stage) {
    const { servers } = await etcdServers(stage)
    const fixed = await fixedKeyAct(stage, 'one key, and all watch it', async (name) => {
      const client = etcdClient(stage, servers)
      const key = Buffer.from(`lab/${name}`)
      let listener: (() => void) | null = null
      return {
        async take(wake) {
          const isFirst = listener === null
          listener = wake
          if (isFirst) {
            const onEvents = (events: readonly unknown[]): void => {
              for (let i = 0; i < events.length; i++) listener?.()
            }
            // It ends with its client, when the exhibit does.
            await client.watch(key, { filters: ['noput'] }, { onEvents, onEnd: () => undefined })
          }
          const compare = [{ target: 'create', result: '=', key, createRevision: 0n } as const]
          return (await client.txn({ compare, success: [{ put: { key, value: key } }] })).succeeded
        },
        async free() {
          await client.deleteRange({ key })
        },
      }
    })
    return [fixed, await lineAct(stage, () => etcd(`etcd://${addresses(servers)}`))]
  },
}
