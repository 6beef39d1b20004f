/** A driver in a worker thread, for the conformance suite. */
import { RemoteDriver } from '../../build/src/worker/remote-driver.js'

/** @param {string} url */
export default function remote(url) {
  return RemoteDriver.open(url, {}, 60_000)
}
