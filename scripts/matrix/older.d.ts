import type { GivenServers } from '../../packages/holdfast-lab/src/testbed/given.ts'

export function olderServers(): Promise<GivenServers>
