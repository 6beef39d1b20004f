/*
 * A request that its owner waits for no more, and that is still under way: a connection was given up, and a kernel goes
 * on taking its bytes. It arrives at any time, also after newer ones, or never. One at a time.
 */
inline delay(c, s, question_) {
  late.question = question_;
  late.from = c;
  late.to = s;
  late.attempt = client[c].attempt;
  late.round = client[c].round;
  late.epoch = client[c].epoch;
  late.rank = client[c].rank;
  late.token = (question_ == WRITE -> client[c].largest : (question_ == RENEW -> client[c].token : client[c].proposed));
  latecomers++;
  printf("@delayed %d %d question %d\n", c, s, question_)
}

/* Of the servers that the question has not reached, one gets it late, or none. */
inline postpone(c) {
#if LATE > 0
  if
  :: true
  :: late.question == 0 && latecomers < LATE && !all_asked(c) ->
    pick_server(c);
    d_step { delay(c, at, client[c].question); at = 0 }
  fi
#else
  skip
#endif
}

active proctype Network() {
end:
  do
  :: d_step {
      late.question != 0 ->
      at = late.to;
      who = late.from;
      if
      :: late.question == ENTER ->
        enter(at, who, late.epoch, late.attempt, late.round, late.rank, late.token, 0);
        printf("@enter %d %d attempt %d round %d epoch %d priority %d token %d fixed 0 -> %d %d late\n", who, at,
          late.attempt, late.round, late.epoch, late.rank, late.token, code, number)
      :: late.question == TOUCH || late.question == WRITE || late.question == RENEW ->
        touch(at, who, late.epoch, late.attempt, late.round, late.token,
          (late.question == TOUCH -> 0 : (late.question == WRITE -> 2 : 1)));
        printf("@touch %d %d attempt %d round %d epoch %d token %d how %d -> %d %d late\n", who, at, late.attempt,
          late.round, late.epoch, late.token, (late.question == TOUCH -> 0 : (late.question == WRITE -> 2 : 1)),
          code, number)
      :: late.question == LEAVE ->
        leave(at, who, late.epoch, late.attempt, late.round);
        printf("@leave %d %d attempt %d round %d epoch %d -> %d 0 late\n", who, at, late.attempt, late.round,
          late.epoch, code)
      :: late.question == YIELD ->
        yield(at, who, late.epoch, late.attempt, late.round);
        printf("@yield %d %d attempt %d round %d epoch %d -> %d 0 late\n", who, at, late.attempt, late.round,
          late.epoch, code)
      fi;
      late.question = 0; late.from = 0; late.to = 0; late.attempt = 0; late.round = 0; late.epoch = 0;
      late.rank = 0; late.token = 0;
      code = 0; number = 0; at = 0; quiet = 0; who = 0
    }
  od
}
