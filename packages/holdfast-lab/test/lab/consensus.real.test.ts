/** Exhibits on three etcd members and three ZooKeeper servers. */
import { exhibitTests } from './rig.ts'

exhibitTests({
  'minority-etcd': [
    ['remedy', 'no harm', 1],
    ['recipe', 'harm', 1],
    ['holdfast', 'caught', 1],
  ],
  'minority-zookeeper': [
    ['remedy', 'no harm', 1],
    ['recipe', 'harm', 1],
    ['holdfast', 'caught', 1],
  ],
  'herd-etcd': [
    ['recipe', 'harm'],
    ['holdfast', 'impossible'],
  ],
  'herd-zookeeper': [
    ['recipe', 'harm'],
    ['holdfast', 'impossible'],
  ],
})
