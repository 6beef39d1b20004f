/*
 * What one server does, step by step as ../../holdfast/src/stores/redlock/lua does: each script is one atomic step.
 * The line is a mutex, so one place at most has the server's vote.
 */

/* lua/guard.lua: may it vote, for somebody who counts by this epoch? In `quiet`. */
inline silence(s, epoch_) {
  if
#ifndef FLAW_NO_MARKER
  :: server[s].epoch == 0 || server[s].epoch != epoch_ -> quiet = STRANGE
#endif
  :: else -> quiet = (server[s].silent > 0 -> QUIET : 0)
  fi
}

/* A token that its owner has settled stays; another is raised above all that this server has seen. */
inline raise(s, c) {
#ifdef NO_TOKENS
  skip
#else
  if
  :: !server[s].place[c].fixed && server[s].place[c].token <= server[s].last ->
    server[s].place[c].token = server[s].last + 1
  :: else
  fi;
  see(s, server[s].place[c].token)
#endif
}

inline see(s, token_) {
#ifdef NO_TOKENS
  skip
#else
  server[s].last = (token_ > server[s].last -> token_ : server[s].last)
#endif
}

/* Gives the vote to the first of those who wait, if nobody has it. */
inline settle(s) {
  chosen = CLIENTS;
  for (a : 0 .. CLIENTS - 1) {
    if
    :: server[s].place[a].state == VOTE -> chosen = CLIENTS + 1
    :: server[s].place[a].state == WAITS && chosen == CLIENTS -> chosen = a
    :: server[s].place[a].state == WAITS && chosen < CLIENTS ->
      chosen = (server[s].place[a].rank < server[s].place[chosen].rank -> a : chosen)
    :: else
    fi
  }
  a = 0;
  if
  :: chosen < CLIENTS ->
    server[s].place[chosen].state = VOTE;
    raise(s, chosen)
  :: else
  fi;
  chosen = 0
}

inline forget_place(s, c) {
  server[s].place[c].state = NONE;
  server[s].place[c].attempt = 0;
  server[s].place[c].round = 0;
  server[s].place[c].rank = 0;
  server[s].place[c].token = 0;
  server[s].place[c].fixed = 0;
  server[s].place[c].lapse = 0
}

/* The answer for one place, in `code` and `number`. */
inline answer(s, c) {
  code = server[s].place[c].state;
  number = server[s].place[c].token
}

/*
 * lua/enter.lua. Before it, on the same connection, comes lua/bury.lua for older ids of the client: tombstones.ts.
 */
inline enter(s, c, epoch_, attempt_, round_, rank_, token_, fixed_) {
  silence(s, epoch_);
  if
  :: quiet != 0 -> code = quiet
  :: else ->
    if
    :: server[s].place[c].state != NONE && server[s].place[c].attempt < attempt_ -> forget_place(s, c); settle(s)
    :: else
    fi;
    if
    :: server[s].ended[c] >= attempt_ || (server[s].place[c].state != NONE && server[s].place[c].attempt > attempt_) ->
      settle(s);
      code = GONE
    :: else ->
      server[s].ended[c] = attempt_ - 1;
      if
      :: server[s].place[c].state == NONE ->
        server[s].place[c].state = WAITS;
        server[s].place[c].attempt = attempt_;
        server[s].place[c].round = round_;
        server[s].place[c].rank = rank_;
        server[s].place[c].token = token_;
        server[s].place[c].fixed = fixed_
      :: else ->
        if
        :: round_ > server[s].place[c].round ->
          server[s].place[c].round = round_;
          if
          :: fixed_ || server[s].place[c].fixed
          :: else ->
            if
            :: server[s].place[c].state == WAITS -> server[s].place[c].token = token_
            :: else ->
              if
              :: token_ > server[s].last -> server[s].place[c].token = token_; see(s, token_)
              :: else
              fi
            fi
          fi
        :: else
        fi
      fi;
      server[s].place[c].lapse = TTL;
      settle(s);
      answer(s, c)
    fi
  fi
}

/* lua/touch.lua: `how_` is 0 for a proposal, 1 for the token of a hold, 2 for a token that is written back. */
inline touch(s, c, epoch_, attempt_, round_, token_, how_) {
  silence(s, epoch_);
  if
  :: quiet != 0 -> code = quiet
  :: else ->
    settle(s);
    if
    :: server[s].place[c].state == NONE || server[s].place[c].attempt != attempt_ -> code = GONE
    :: else ->
      server[s].place[c].lapse = TTL;
      if
      :: round_ < server[s].place[c].round
      :: else ->
        server[s].place[c].round = round_;
        if
        :: server[s].place[c].state == WAITS ->
          server[s].place[c].token = token_;
          server[s].place[c].fixed = (how_ == 1)
        :: else ->
          if
          :: how_ == 1 ->
            server[s].place[c].fixed = 1;
            server[s].place[c].token = token_;
            see(s, token_)
          :: how_ == 2 && !server[s].place[c].fixed && token_ >= server[s].place[c].token ->
            server[s].place[c].token = token_;
            see(s, token_)
          :: how_ == 0 && !server[s].place[c].fixed && token_ > server[s].last ->
            server[s].place[c].token = token_;
            see(s, token_)
          :: else
          fi
        fi
      fi;
      answer(s, c)
    fi
  fi
}

/* lua/leave.lua, for a place whose request to enter may still be under way. It works in silence, too. */
inline leave(s, c, epoch_, attempt_, round_) {
  silence(s, epoch_);
  if
  :: server[s].place[c].state != NONE && server[s].place[c].attempt == attempt_ && server[s].place[c].round > round_
  :: else ->
    if
    :: server[s].place[c].state != NONE && server[s].place[c].attempt <= attempt_ -> forget_place(s, c)
    :: else
    fi;
    server[s].ended[c] = (attempt_ > server[s].ended[c] -> attempt_ : server[s].ended[c])
  fi;
  if
  :: quiet == 0 -> settle(s)
  :: else
  fi;
  code = quiet
}

/* lua/yield.lua: a later question may have counted this vote; then the request was too long under way. */
inline yield(s, c, epoch_, attempt_, round_) {
  silence(s, epoch_);
  if
  :: quiet != 0 -> code = quiet
  :: else ->
    code = NONE;
    if
    :: server[s].place[c].state == VOTE && server[s].place[c].attempt == attempt_ &&
        server[s].place[c].round == round_ ->
      server[s].place[c].state = WAITS;
      code = VOTE
    :: else
    fi;
    settle(s)
  fi
}
