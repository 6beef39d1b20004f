/*
 * What one client does, as ../../holdfast/src/stores/redlock/rounds.ts does: it asks every server the same question,
 * counts the answers by majority, settles its token with a majority, holds, and leaves. A question reaches a server,
 * or not; its answer reaches the client, or not. Whoever is not waited for any more may still arrive: late.pml.
 */

#define waited_long(c) (client[c].next == 0 || client[c].next < TTL - PATIENCE)

/* The vote of a server is the client's; and somebody who came earlier waits for it. */
#define voted(s, c) (server[s].place[c].state == VOTE && server[s].place[c].attempt == client[c].attempt)
#define waits_before(s, o, c) (o != c && server[s].place[o].state == WAITS && (server[s].place[o].rank < \
  server[s].place[c].rank || (server[s].place[o].rank == server[s].place[c].rank && o < c)))
#if CLIENTS > 2
#define rivalled(s, c) (voted(s, c) && (waits_before(s, 0, c) || waits_before(s, 1, c) || waits_before(s, 2, c)))
#else
#define rivalled(s, c) (voted(s, c) && (waits_before(s, 0, c) || waits_before(s, 1, c)))
#endif
#if SERVERS > 3
#define is_rivalled(c) (rivalled(0, c) || rivalled(1, c) || rivalled(2, c) || rivalled(3, c) || rivalled(4, c))
#else
#define is_rivalled(c) (rivalled(0, c) || rivalled(1, c) || rivalled(2, c))
#endif

/* In a calm world only when there is something to hear: pushed votes, or a lapse. */
#ifdef CALM
#define may_ask_again(c) (client[c].stale || pushed_votes(c) >= quorum_of(c))
#if SERVERS > 3
#define pushed_votes(c) (voted(0, c) + voted(1, c) + voted(2, c) + voted(3, c) + voted(4, c))
#else
#define pushed_votes(c) (voted(0, c) + voted(1, c) + voted(2, c))
#endif
#else
#define may_ask_again(c) (client[c].asked < ROUNDS)
#endif

/* The token to propose: by a clock of its own, and more than the last one. Clients differ by SKEW. */
inline propose(c) {
#ifdef NO_TOKENS
  client[c].proposed = c + 1
#else
  n = ticks * PACE + 1 + c * SKEW;
  client[c].proposed = (n > client[c].proposed -> n : client[c].proposed + 1);
  n = 0
#endif
}

inline clear_answers(c) {
  client[c].done = 0;
  client[c].votes = 0;
  client[c].waits = 0;
  client[c].gone = 0;
  for (b : 0 .. SERVERS - 1) {
    client[c].told[b] = 0
  }
  b = 0
}

inline next_round(c, question_) {
  clear_answers(c);
  client[c].question = question_;
  client[c].round++;
  client[c].asked++;
  client[c].stale = 0;
  client[c].stands = 0;
  client[c].phase = ASKING
}

/* It says hello to somebody who knows of a change, or has not yet. */
inline learn(c) {
#if ADDS + REPLACES > 0
  if
  :: true
  :: client[c].epoch < decided ->
    client[c].epoch = decided;
    printf("@learn %d epoch %d\n", c, decided)
  fi
#else
  skip
#endif
}

/* The question at one server; the answer in `code` and `number`. */
inline ask(c, s) {
  if
  :: client[c].question == ENTER ->
    enter(s, c, client[c].epoch, client[c].attempt, client[c].round, client[c].rank, client[c].proposed, 0);
    printf("@enter %d %d attempt %d round %d epoch %d priority %d token %d fixed 0 -> %d %d", c, s, client[c].attempt,
      client[c].round, client[c].epoch, client[c].rank, client[c].proposed, code, number)
  :: client[c].question == TOUCH ->
    touch(s, c, client[c].epoch, client[c].attempt, client[c].round, client[c].proposed, 0);
    printf("@touch %d %d attempt %d round %d epoch %d token %d how 0 -> %d %d", c, s, client[c].attempt,
      client[c].round, client[c].epoch, client[c].proposed, code, number)
  :: client[c].question == WRITE ->
    touch(s, c, client[c].epoch, client[c].attempt, client[c].round, client[c].largest, 2);
    printf("@touch %d %d attempt %d round %d epoch %d token %d how 2 -> %d %d", c, s, client[c].attempt,
      client[c].round, client[c].epoch, client[c].largest, code, number)
  :: client[c].question == RENEW ->
    touch(s, c, client[c].epoch, client[c].attempt, client[c].round, client[c].token, 1);
    printf("@touch %d %d attempt %d round %d epoch %d token %d how 1 -> %d %d", c, s, client[c].attempt,
      client[c].round, client[c].epoch, client[c].token, code, number)
  fi;
  client[c].done = client[c].done | bit_of(s)
}

inline hear(c, s) {
  if
  :: code == VOTE ->
    client[c].votes = client[c].votes | bit_of(s);
    client[c].told[s] = number
#ifdef FLAW_WRITE_ANYWHERE
  :: code == WAITS && client[c].question == WRITE -> client[c].votes = client[c].votes | bit_of(s)
#else
  :: code == WAITS && client[c].question == WRITE -> client[c].waits = client[c].waits | bit_of(s)
#endif
  :: code == WAITS && client[c].question != WRITE -> client[c].waits = client[c].waits | bit_of(s)
  :: code == GONE -> client[c].gone = client[c].gone | bit_of(s)
  :: else
  fi;
#if defined(FIRST_HOLDS) && ROUNDS == 1
  /* Of its one question only the votes count; with too few that can still come, it will never hold. */
  client[c].waits = 0;
  client[c].gone = 0;
  over = (size(client[c].votes) + counted_by(c) - size(client[c].done) < quorum_of(c));
#endif
  code = 0;
  number = 0
}

/* Of the tokens that came with the votes: the one that a quorum told, or 0, in `chosen`; the largest in `number`. */
inline agree(c) {
  chosen = 0;
  number = 0;
  for (a : 0 .. SERVERS - 1) {
    n = 0;
    for (b : 0 .. SERVERS - 1) {
      if
      :: client[c].told[a] > 0 && client[c].told[b] == client[c].told[a] -> n++
      :: else
      fi
    }
    b = 0;
    if
    :: n >= quorum_of(c) -> chosen = client[c].told[a]
    :: else
    fi;
    number = (client[c].told[a] > number -> client[c].told[a] : number)
  }
  a = 0;
  n = 0
}

/* A quorum has voted: it holds, or it writes the largest token back first. */
inline succeed(c) {
  if
  :: client[c].question == RENEW ->
    client[c].valid = client[c].next;
    printf("@renewed %d by %d\n", c, client[c].votes);
    go_on(c)
  :: client[c].question == WRITE ->
    hold(c, client[c].largest)
  :: else ->
    agree(c);
#ifdef FLAW_LARGEST
    chosen = number;
#endif
    if
    :: chosen > 0 -> hold(c, chosen)
    :: else ->
      client[c].largest = number;
      next_round(c, WRITE);
      printf("@settles %d token %d\n", c, client[c].largest)
    fi;
    chosen = 0;
    number = 0
  fi
}

inline hold(c, token_) {
  client[c].token = token_;
  client[c].valid = client[c].next;
  printf("@holds %d token %d by %d epoch %d\n", c, client[c].token, client[c].votes, client[c].epoch);
  judge(c);
  client[c].largest = 0;
  go_on(c)
}

/* It holds. Of the answers only those matter that say where its place is gone. */
inline go_on(c) {
  n = client[c].gone;
  clear_answers(c);
#if RENEWALS > 0
  client[c].gone = n;
#endif
  n = 0;
  client[c].next = 0;
  client[c].phase = HOLDING
}

inline miss(c) {
  misses = (all_asked(c) || waited_long(c) || misses >= MISSES -> misses : misses + 1)
}

/* Not granted: it stands in line, it lost its place, or it does not know. */
inline fail(c) {
  if
  :: client[c].question == RENEW ->
    if
    :: size(client[c].gone | client[c].waits) > counted_by(c) - quorum_of(c) -> start_leaving(c)
    :: else -> go_on(c)
    fi
  :: client[c].question != RENEW ->
    if
    :: size(client[c].gone) > counted_by(c) - quorum_of(c) -> start_leaving(c)
    :: else ->
#ifdef FIRST_HOLDS
      over = (client[c].asked >= ROUNDS);
#endif
      client[c].stands = (size(client[c].votes | client[c].waits) >= quorum_of(c));
      client[c].phase = WAITING;
      client[c].largest = 0;
      client[c].next = 0;
      clear_answers(c)
    fi
  fi;
  printf("@fails %d\n", c)
}

inline start_leaving(c) {
#ifdef FIRST_HOLDS
  over = 1;
#endif
  clear_answers(c);
  client[c].holds = 0;
  client[c].valid = 0;
  client[c].next = 0;
  client[c].stands = 0;
  client[c].stale = 0;
  client[c].largest = 0;
  client[c].token = 0;
  client[c].question = LEAVE;
  client[c].phase = LEAVING
}

inline end_attempt(c) {
  clear_answers(c);
  client[c].question = 0;
  client[c].asked = 0;
  client[c].rank = 0;
  client[c].renewed = 0;
  client[c].phase = (client[c].attempt < ATTEMPTS -> IDLE : DONE)
}

/* One server that has the client's vote, where an earlier one waits for it. In `at`. */
inline pick_rivalled(c) {
  if
  :: rivalled(0, c) -> at = 0
  :: rivalled(1, c) -> at = 1
  :: rivalled(2, c) -> at = 2
#if SERVERS > 3
  :: rivalled(3, c) -> at = 3
#endif
#if SERVERS > 4
  :: rivalled(4, c) -> at = 4
#endif
  fi
}

proctype Member(byte c) UNTIL_OVER {
  do
  :: atomic {
      client[c].phase == IDLE -> learn(c);
      d_step {
        propose(c);
        client[c].attempt++;
        client[c].rank = client[c].proposed;
        client[c].next = TTL;
        next_round(c, ENTER)
      }
    }
  /* The question reaches a server, and the answer comes back. */
  :: atomic {
      client[c].phase == ASKING && !waited_long(c) && !all_asked(c) -> pick_server(c);
      d_step { ask(c, at); printf(" heard\n"); hear(c, at); at = 0; quiet = 0 }
    }
#if LOSSES > 0
  /* Or the answer is lost. */
  :: atomic {
      losses < LOSSES && client[c].phase == ASKING && !waited_long(c) && !all_asked(c) -> pick_server(c);
      d_step { ask(c, at); printf(" lost\n"); losses++; code = 0; number = 0; at = 0; quiet = 0 }
    }
#endif
  :: atomic {
      client[c].phase == ASKING && client[c].next > 0 && size(client[c].votes) >= quorum_of(c) ->
      d_step { succeed(c) }
    }
#ifdef CALM
  :: atomic {
      client[c].phase == ASKING && all_asked(c) && size(client[c].votes) < quorum_of(c) ->
      d_step { fail(c) }
    }
#else
  /* It has waited long enough, or may have: what was not delivered is lost, or comes late. */
  :: atomic {
      client[c].phase == ASKING && (size(client[c].votes) < quorum_of(c) || client[c].next == 0) &&
        (all_asked(c) || waited_long(c) || misses < MISSES) ->
      postpone(c);
      d_step { miss(c); fail(c) }
    }
#endif
  :: atomic {
      client[c].phase == WAITING && may_ask_again(c) -> learn(c);
      d_step {
        propose(c);
        client[c].next = TTL;
        if
        :: client[c].stands -> next_round(c, TOUCH)
        :: else -> next_round(c, ENTER)
        fi
      }
    }
  :: atomic {
      client[c].phase == WAITING && is_rivalled(c) -> pick_rivalled(c);
      d_step {
        yield(at, c, client[c].epoch, client[c].attempt, client[c].round);
        printf("@yield %d %d attempt %d round %d epoch %d -> %d 0 heard\n", c, at, client[c].attempt, client[c].round,
          client[c].epoch, code);
        code = 0; at = 0; quiet = 0
      }
    }
#if LATE > 0
  :: atomic {
      client[c].phase == WAITING && late.question == 0 && latecomers < LATE && is_rivalled(c) ->
      pick_rivalled(c);
      d_step { delay(c, at, YIELD); at = 0 }
    }
#endif
#ifndef CALM
  :: d_step {
      client[c].phase == WAITING && client[c].asked >= ROUNDS ->
      start_leaving(c);
      printf("@gives-up %d\n", c)
    }
#endif
  :: atomic {
      client[c].phase == HOLDING && client[c].renewed < RENEWALS -> learn(c);
      d_step {
        client[c].renewed++;
        client[c].next = TTL;
        next_round(c, RENEW)
      }
    }
  /* A server that lost the place, or came late, gets it again while a majority stands. */
  :: atomic {
      client[c].phase == HOLDING && client[c].gone != 0 ->
      if
      :: has(client[c].gone, 0) -> at = 0
      :: has(client[c].gone, 1) -> at = 1
      :: has(client[c].gone, 2) -> at = 2
#if SERVERS > 3
      :: has(client[c].gone, 3) -> at = 3
#endif
#if SERVERS > 4
      :: has(client[c].gone, 4) -> at = 4
#endif
      fi;
      d_step {
        enter(at, c, client[c].epoch, client[c].attempt, client[c].round, client[c].rank, client[c].token, 1);
        printf("@enter %d %d attempt %d round %d epoch %d priority %d token %d fixed 1 -> %d %d lost\n", c, at,
          client[c].attempt, client[c].round, client[c].epoch, client[c].rank, client[c].token, code, number);
        client[c].gone = client[c].gone - bit_of(at);
        code = 0; number = 0; at = 0; quiet = 0
      }
    }
  :: d_step { client[c].phase == HOLDING -> start_leaving(c); printf("@releases %d\n", c) }
  :: atomic {
      client[c].phase == LEAVING && !all_asked(c) -> pick_server(c);
      d_step {
        leave(at, c, client[c].epoch, client[c].attempt, client[c].round);
        printf("@leave %d %d attempt %d round %d epoch %d -> %d 0 heard\n", c, at, client[c].attempt, client[c].round,
          client[c].epoch, code);
        client[c].done = client[c].done | bit_of(at);
        code = 0; at = 0; quiet = 0
      }
    }
#ifdef CALM
  :: d_step { client[c].phase == LEAVING && all_asked(c) -> end_attempt(c) }
#else
  :: atomic {
      client[c].phase == LEAVING && (all_asked(c) || misses < MISSES) -> postpone(c);
      d_step { miss(c); end_attempt(c) }
    }
#endif
#if CRASHES > 0
  :: d_step {
      crashes < CRASHES && client[c].phase != DONE && client[c].phase != CRASHED && client[c].phase != IDLE ->
      crashes++;
      start_leaving(c);
      end_attempt(c);
      client[c].attempt = 0;
      client[c].round = 0;
      client[c].proposed = 0;
      client[c].phase = CRASHED;
      printf("@crashes %d\n", c)
    }
#endif
  :: client[c].phase == DONE || client[c].phase == CRASHED -> break
  od
}

