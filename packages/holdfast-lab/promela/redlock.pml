/*
 * Redlock of Holdfast as a Promela model: votes, the agreement on tokens, silence after a restart, and the marker with
 * its epoch while servers are added or replaced. Spin looks at every order of steps of a small world.
 *
 *   npm run spin            small worlds, and the simpler schemes, each of which Spin must refute
 *   npm run spin -- --deep  larger ones
 *
 * What is modelled and what is left out: docs/explain/spin.md.
 */
#include "world.pml"
#include "laws.pml"
#include "server.pml"
#include "late.pml"
#include "client.pml"
#include "time.pml"
#include "operator.pml"

/*
 * The clock and the operator start after the set-up, in one step with the clients: an operator that ran before it took
 * the servers of the first epoch for strangers, and no real deployment begins like that.
 */
init {
  d_step {
    for (a : 0 .. SERVERS - 1) {
      if
      :: a < FIRST -> server[a].epoch = 1; server[a].settled = TTL
      :: else
      fi
    }
    a = 0;
    for (b : 0 .. CLIENTS - 1) {
      client[b].epoch = 1
    }
    b = 0
  }
  atomic {
    run Member(0);
    run Member(1);
#if CLIENTS > 2
    run Member(2);
#endif
#if TICKS > 0
    run Clock();
#endif
#if RESTARTS > 0
    run Restarts();
#endif
#if ADDS + REPLACES > 0
    run Operator();
#endif
  }
}
