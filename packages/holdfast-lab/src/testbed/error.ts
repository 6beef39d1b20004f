/** The one error of the testbed: a server or a tool that could not be found, installed, started or stopped. */
import { HoldfastError } from 'holdfast'

/**
 * The testbed could not do what was asked; the message says what to do, with the end of the server's log if there is
 * one.
 */
export class TestbedError extends HoldfastError {
  readonly code = 'HF_TESTBED'
}
