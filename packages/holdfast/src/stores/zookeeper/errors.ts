/** The client's errors as a caller of locks understands them. */
import { StoreError } from '../../contract/errors.ts'
import { isZooKeeperError } from '../../clients/zookeeper/index.ts'

/** Passes most errors on; those that a person has to mend get the words for it. */
export function explained(error: unknown, line?: string): unknown {
  const detail = line === undefined ? { cause: error } : { cause: error, line }
  if (isZooKeeperError(error, 'NoAuth')) {
    return new StoreError(
      `ZooKeeper does not permit this client to use ${error.path}: give the factory the identity that may, or ` +
        `change the ACL of that node`,
      detail,
    )
  }
  // Nobody will answer this client any more: to wait for it would be in vain.
  if (isZooKeeperError(error, 'AuthFailed', 'SessionClosedRequireSaslAuth')) {
    return new StoreError('ZooKeeper has refused the identity of this client: check scheme and credential', detail)
  }
  return error
}
