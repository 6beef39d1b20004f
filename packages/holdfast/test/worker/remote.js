/** A driver in a worker thread, for the conformance suite. */
import { RemoteDriver } from '../../../dist/src/heartbeat/remote-driver.js'

/** @param {string} url */
export default function remote(url) {
  return RemoteDriver.open(url, {}, 60_000)
}
