/**
 * For Porcupine, a linearizability checker in Go: one JSON object a line with the fields of its `Operation`. The model
 * to check by is in docs/explain/torture.md.
 */
import type { Trial } from '../checker/trial.ts'
import { operationsOf } from './operations.ts'

export function* porcupine(trial: Trial): Generator<string> {
  // Porcupine wants an answer to everything: what has none may happen until after the last.
  const never = trial.end + 1
  for (const { op, line, weight, visit, over, client, call, answered, outcome, token } of operationsOf(trial)) {
    // Whether it took effect is not known: that it did not is one of the ways that it can have been, and it was in
    // nobody's way then.
    if (op === 'acquire' && outcome === 'unknown') continue
    const capacity = trial.lines.get(line)?.spec.capacity ?? 1
    yield JSON.stringify({
      ClientId: client,
      Input: { op, line, visit, over, weight, capacity },
      Call: call,
      Output: { ok: op === 'release' || outcome === 'ok', token: token === null ? null : String(token) },
      Return: Math.min(answered, never),
    })
  }
}
