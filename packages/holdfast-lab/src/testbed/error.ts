/** The one error of the testbed: it could not find, install, start or stop a server or a tool. */
import { HoldfastError } from 'holdfast'

/**
 * The testbed could not do what was asked; the message says what to do, with the end of the server's log if there is
 * one.
 */
export class TestbedError extends HoldfastError {
  readonly code = 'HF_TESTBED'
}
