/** Explains the client's errors to a caller of locks. */
import { StoreError } from '../../contract/errors.ts'
import { isZooKeeperError } from '../../clients/zookeeper/index.ts'

/** Passes most errors on; those that a person must mend get the words for that. */
export function explained(error: unknown, line?: string): unknown {
  const detail = line === undefined ? { cause: error } : { cause: error, line }
  if (isZooKeeperError(error, 'NoAuth')) {
    return new StoreError(
      `ZooKeeper does not permit this client to use ${error.path}: give the factory the identity that may, or ` +
        `change the ACL of that node`,
      detail,
    )
  }
  // No server will answer this client any more, so waiting would be in vain.
  if (isZooKeeperError(error, 'AuthFailed', 'SessionClosedRequireSaslAuth')) {
    return new StoreError('ZooKeeper has refused the identity of this client: check scheme and credential', detail)
  }
  return error
}
