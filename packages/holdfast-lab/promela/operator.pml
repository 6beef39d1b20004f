/*
 * What happens to servers: they restart, with their data, with an older copy of it or with none, and the deployment
 * takes in others. That a majority agrees on one list for each epoch (cells.ts, ballots) is taken for granted here.
 */

/* A restart finds any server; of those that nothing has happened to, the first: see pick_server. */
#define may_restart(s) (restarts < RESTARTS && server[s].epoch > 0 && (s <= used || s >= FIRST))

#if RESTARTS > 0
inline forget_all(s) {
  for (a : 0 .. CLIENTS - 1) {
    forget_place(s, a);
    server[s].ended[a] = 0
  }
  a = 0;
  server[s].last = 0
}

/* Of the data nothing is left, or an older copy, in which the marker is and the votes are not, or all. */
#define EMPTY 1
#define STALE 2
#define KEPT 3

/* guard.lua: the marker is of another run, whatever is left of the data; or there is none. */
inline restart(s, copy_) {
  restarts++;
  used = (s == used && used < FIRST -> used + 1 : used);
  if
  :: copy_ != KEPT -> forget_all(s)
  :: else
  fi;
#ifndef FLAW_NO_SILENCE
  if
  :: copy_ == EMPTY -> server[s].epoch = 0; server[s].silent = 0; server[s].settled = 0; server[s].lost = 1
  :: else -> server[s].silent = TTL
  fi;
#endif
  printf("@restart %d copy %d\n", s, copy_)
}

proctype Restarts() UNTIL_OVER {
end:
  do
  :: d_step { may_restart(0) -> restart(0, COPY) }
  :: d_step { may_restart(1) -> restart(1, COPY) }
  :: d_step { may_restart(2) -> restart(2, COPY) }
#if SERVERS > 3
  :: d_step { may_restart(3) -> restart(3, COPY) }
#endif
#if SERVERS > 4
  :: d_step { may_restart(4) -> restart(4, COPY) }
#endif
  od
}
#endif

#if ADDS + REPLACES > 0
#define here(s) (server[s].epoch == decided)
#define votes_now(s) (here(s) && server[s].silent == 0)
#ifdef FLAW_HASTY
#define is_settled(s) here(s)
#else
#define is_settled(s) (here(s) && server[s].settled == TTL)
#endif
/* A server of before the latest change that knows of it. */
#define has_moved(s) (here(s) && !server[s].fresh)
#if SERVERS > 3
#define all_of(what) (what(0) + what(1) + what(2) + what(3) + what(4))
#define somebody_lost (server[0].lost || server[1].lost || server[2].lost || server[3].lost || server[4].lost)
#else
#define all_of(what) (what(0) + what(1) + what(2))
#define somebody_lost (server[0].lost || server[1].lost || server[2].lost)
#endif

/*
 * A majority of the present epoch agrees on the next: it must be able to vote, and have been in this epoch for one
 * longest lease. (Who held by the epoch before the present one need not share a server with one after the next.)
 */
#define may_decide (all_of(votes_now) >= majority_of(decided) && all_of(is_settled) >= majority_of(decided))
#if ADDS > 0
#define is_wanted (decided < 1 + ADDS)
#else
#define is_wanted (decided < 1 + REPLACES && somebody_lost)
#endif

/* A server of an older epoch is told of the change, whenever somebody gets to it. */
#define may_move(s) (server[s].epoch > 0 && server[s].epoch < decided)
/* A new one is told; in the place of one that lost its data, not before a majority knows of the change. */
#if REPLACES > 0
#define may_join(s) (server[s].lost && server[s].called && all_of(has_moved) >= majority_of(decided - 1))
#else
#define may_join(s) (server[s].epoch == 0 && s < size_of(decided))
#endif

inline move(s) {
  server[s].epoch = decided;
  server[s].settled = 0;
  server[s].fresh = 0;
  printf("@adopt %d epoch %d keep\n", s, decided)
}

inline join(s) {
  server[s].epoch = decided;
  server[s].settled = 0;
  server[s].lost = 0;
  server[s].called = 0;
  server[s].fresh = 1;
#ifndef FLAW_LOUD
  server[s].silent = TTL;
#endif
  printf("@adopt %d epoch %d quiet\n", s, decided)
}

/* Those that are lost now are in the list of the next epoch; who is lost later waits for another change. */
inline decide() {
  decided++;
  for (a : 0 .. SERVERS - 1) {
    server[a].called = server[a].lost
  }
  a = 0;
  printf("@decided epoch %d\n", decided)
}

proctype Operator() UNTIL_OVER {
end:
  do
  :: d_step { is_wanted && may_decide -> decide() }
  :: d_step { may_move(0) -> move(0) }
  :: d_step { may_move(1) -> move(1) }
  :: d_step { may_move(2) -> move(2) }
  :: d_step { may_join(0) -> join(0) }
  :: d_step { may_join(1) -> join(1) }
  :: d_step { may_join(2) -> join(2) }
#if SERVERS > 3
  :: d_step { may_move(3) -> move(3) }
  :: d_step { may_join(3) -> join(3) }
#endif
#if SERVERS > 4
  :: d_step { may_move(4) -> move(4) }
  :: d_step { may_join(4) -> join(4) }
#endif
  od
}
#endif
