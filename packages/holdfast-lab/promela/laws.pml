/* The laws: one holder at a time, and tokens that rise from hold to hold, so that none stands twice. */

/* A counter-example is about one law: the other is not judged there. */
#ifdef ONLY_TOKENS
#define shared_allowed 1
#else
#define shared_allowed 0
#endif
#ifdef NO_TOKENS          /* nor are there tokens, in worlds that are large enough without */
#define fall_allowed 1
#elif defined(ONLY_EXCLUSION)
#define fall_allowed 1
#else
#define fall_allowed 0
#endif

byte highest;           /* the token of the latest hold */

inline judge(c) {
  for (a : 0 .. CLIENTS - 1) {
    assert(!client[a].holds || shared_allowed)
  }
  a = 0;
  client[c].holds = 1;
  assert(client[c].token > highest || fall_allowed);
#ifndef NO_TOKENS
  highest = (client[c].token > highest -> client[c].token : highest)
#else
  skip
#endif
}
