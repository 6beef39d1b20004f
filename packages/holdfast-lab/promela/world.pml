/*
 * The world: how many servers and clients there are, what may happen to them, and what each of them knows.
 * Every number can be set from outside (-DSERVERS=5); what a configuration allows is in ../src/spin/configurations.ts.
 */
#ifndef SERVERS
#define SERVERS 3       /* machines that there are */
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef FIRST
#define FIRST SERVERS   /* of them, servers of the deployment at first */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 1      /* ids that each client uses, one after the other: an id names one place, once */
#endif
#ifndef ROUNDS
#define ROUNDS 3        /* questions for one id, the write-back of a token included */
#endif
#ifndef TTL
#define TTL 2           /* every lease, in ticks: also the longest of the deployment */
#endif
#ifndef TICKS
#define TICKS 0         /* how much time may pass */
#endif
#ifndef PATIENCE
#define PATIENCE (TTL - 1)  /* ticks that a question may take */
#endif
#ifndef SKEW
#define SKEW 3          /* by which the clocks differ that tokens are proposed by: each client's from the last one's */
#endif
#ifndef PACE
#define PACE 0          /* tokens that fit into a tick; 0: clocks stand still */
#endif
#ifndef LOSSES
#define LOSSES 0        /* answers that are lost */
#endif
#ifndef MISSES
#define MISSES 0        /* questions that are given up before they have reached every server */
#endif
#ifndef LATE
#define LATE 0          /* requests that may arrive after their owner has stopped waiting for them */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifndef ADDS
#define ADDS 0          /* servers that are taken in, one after the other */
#endif
#ifndef REPLACES
#define REPLACES 0      /* servers that lost their data, and are taken in again as new ones */
#endif
#ifndef RENEWALS
#define RENEWALS 0      /* of each hold */
#endif

/* What a server has of a client's place. */
#define NONE 0
#define WAITS 1
#define VOTE 2
/* What a server answers: one of the three above, or */
#define GONE 3          /* the place is gone, or its id is dead */
#define QUIET 4         /* no votes: it may have forgotten some */
#define STRANGE 5       /* it has no marker, or that of another epoch */

/* The questions of a client. */
#define ENTER 1
#define TOUCH 2         /* renews, and proposes a newer token */
#define WRITE 3         /* writes the largest token back */
#define RENEW 4         /* renews a hold: its token is settled */
#define LEAVE 5
#define YIELD 6         /* gives a vote back, and keeps the place */

/* What a client is doing. */
#define IDLE 0
#define ASKING 1
#define WAITING 2
#define HOLDING 3
#define LEAVING 4
#define DONE 5
#define CRASHED 6

typedef Place {
  byte state;
  byte attempt;         /* stands for the id */
  byte round;           /* of the latest question that the server knows */
  byte rank;
  byte token;
  bit fixed;            /* its owner holds with it */
  byte lapse            /* ticks */
}

typedef Server {
  byte epoch;           /* in its marker; 0: it has none */
  byte silent;          /* ticks for which it gives no votes */
  byte settled;         /* ticks since its epoch began, as far as they matter */
  byte last;            /* token */
  bit lost;             /* it was a server of the deployment, and lost its data */
  bit called;           /* the latest change takes it in again */
  bit fresh;            /* its epoch is the first that it knows */
  Place place[CLIENTS];
  byte ended[CLIENTS]   /* requests to enter of that round of the client, or older, come too late */
}

typedef Client {
  byte phase;
  byte question;
  byte attempt;
  byte round;
  byte asked;           /* how many questions for this id */
  byte epoch;           /* that it counts by */
  byte rank;
  byte proposed;
  byte token;           /* 0: none is settled */
  byte largest;         /* of the answers: what it writes back */
  bit stands;           /* a quorum has its place, so that it touches it; else it enters again */
  byte done;            /* servers that the present question has reached: bits */
  byte votes;
  byte waits;
  byte gone;
  byte told[SERVERS];   /* the tokens that came with the votes */
  bit holds;
  byte valid;           /* ticks for which it holds */
  byte next;            /* ticks for which it will, should the present question be granted */
  byte renewed;
  bit stale             /* time has passed since it asked */
}

/* One request that its owner gave up, and that is still under way. */
typedef Request {
  byte question;
  byte from;
  byte to;
  byte attempt;
  byte round;
  byte epoch;
  byte rank;
  byte token;
  bit fixed
}

Server server[SERVERS];
Client client[CLIENTS];
Request late;
byte latecomers;        /* how many there were */
byte losses;
byte misses;
byte used;              /* servers that anything has happened to: see pick_server */
byte decided = 1;       /* the latest epoch that a majority agreed on */
byte crashes;
byte restarts;
byte ticks;

/*
 * FIRST_HOLDS: a run ends as soon as one client can hold no more (it leaves, or its last question has failed). Two hold
 * at once before that or never, where each client has one id: so nothing is lost, if only exclusion is judged.
 */
#ifdef FIRST_HOLDS
bit over;
#define UNTIL_OVER provided (!over)
#else
#define UNTIL_OVER
#endif

/* Scratch: 0 between two steps. */
byte at, number;
byte a, b, m, n, code, quiet, chosen, who;

#define bit_of(s) (1 << (s))
#define has(set, s) (((set) >> (s)) & 1)

/* Servers 0 .. FIRST - 1 at first; each of the first changes takes in one more. */
#define size_of(e) (FIRST + ((e) - 1 < ADDS -> (e) - 1 : ADDS))
#define majority_of(e) ((size_of(e) / 2) + 1)

/* How many servers a client counts, and how many votes make a hold for it. */
#ifdef FLAW_NO_MARKER
/* Without a marker it counts those that it was given: the first client the servers before the change, others all. */
#define counted_by(c) ((c) == 0 -> FIRST : SERVERS)
#define quorum_of(c) ((counted_by(c) / 2) + 1)
#else
#define counted_by(c) size_of(client[c].epoch)
#define quorum_of(c) majority_of(client[c].epoch)
#endif

#if SERVERS > 3
#define size(set) (has(set, 0) + has(set, 1) + has(set, 2) + has(set, 3) + has(set, 4))
#else
#define size(set) (has(set, 0) + has(set, 1) + has(set, 2))
#endif

#define all_asked(c) (client[c].done == (1 << counted_by(c)) - 1)

#define may_reach(c, s) (!has(client[c].done, s) && s < counted_by(c) && (s <= used || s >= FIRST))

/*
 * One server that the present question has not reached. In `at`. Servers that nothing has happened to are alike: of
 * those, only the first is tried. The others would show the same under other names.
 */
inline pick_server(c) {
  if
  :: may_reach(c, 0) -> at = 0
  :: may_reach(c, 1) -> at = 1
  :: may_reach(c, 2) -> at = 2
#if SERVERS > 3
  :: may_reach(c, 3) -> at = 3
#endif
#if SERVERS > 4
  :: may_reach(c, 4) -> at = 4
#endif
  fi;
  used = (at == used && used < FIRST -> used + 1 : used)
}
