/** How much an answer proves about the session: which servers had to take part in it. */

/**
 * `server`: the connected server alone. A follower cut off from its leader goes on answering reads and pings for up to
 * syncLimit ticks, while the leader ends the session and frees its nodes. `leader`: the leader had to answer, too.
 * `quorum`: a majority had to commit, which a deposed leader can't make them do.
 */
export const Proof = { server: 0, leader: 1, quorum: 2 } as const
export type ProofLevel = (typeof Proof)[keyof typeof Proof]

/** What a client sends when nothing else has proven its session for a third of the session time. */
export type Heartbeat = 'ping' | 'sync' | 'commit'

/** What an answer must prove at least to move the session's deadline. */
export const PROOF_NEEDED: Readonly<Record<Heartbeat, ProofLevel>> = {
  ping: Proof.server,
  sync: Proof.leader,
  commit: Proof.quorum,
}
