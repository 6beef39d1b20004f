/*
 * Time passes in ticks, for all clocks at once: clocks run alike. (They need not show the same time: proposals of
 * tokens differ by SKEW.) A hold ends, by its owner's clock, TTL ticks after the question was sent that last renewed
 * it; a vote lapses TTL ticks after the server answered.
 */
inline tick() {
  ticks++;
  for (a : 0 .. SERVERS - 1) {
    server[a].silent = (server[a].silent > 0 -> server[a].silent - 1 : 0);
    server[a].settled = (server[a].settled < TTL -> server[a].settled + 1 : TTL);
    for (b : 0 .. CLIENTS - 1) {
      if
      :: server[a].place[b].lapse > 1 -> server[a].place[b].lapse--
      :: server[a].place[b].lapse == 1 -> forget_place(a, b)
      :: else
      fi
    }
  }
  a = 0; b = 0;
  for (who : 0 .. CLIENTS - 1) {
    client[who].next = (client[who].next > 0 -> client[who].next - 1 : 0);
    client[who].valid = (client[who].valid > 0 -> client[who].valid - 1 : 0);
    client[who].stale = (client[who].phase == WAITING);
    if
    :: client[who].holds && client[who].valid == 0 ->
      start_leaving(who);
      printf("@loses %d\n", who)
    :: else
    fi
  }
  who = 0;
  printf("@tick\n")
}

#if TICKS > 0
proctype Clock() UNTIL_OVER {
end:
  do
#ifdef CALM
  /* Everybody does at once what there is to do: time passes only while all wait for it. */
  :: timeout && ticks < TICKS -> d_step { tick() }
#else
  :: d_step { ticks < TICKS -> tick() }
#endif
  od
}
#endif
