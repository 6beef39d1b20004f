-- Tables of the PostgreSQL store, version 6.
-- @name stands for the object of that name under the configured schema and prefix.
-- All times and spans are whole microseconds; times since 1970 by clock_timestamp(). Tokens come from the same clock.

CREATE TABLE IF NOT EXISTS @meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  -- No token or version of a row that was swept is above this one.
  floor bigint NOT NULL
);

-- A line. Its row is the lock under which everything about it changes.
-- A place that stands alone lives in the row itself (solo_*, token = last): the uncontended pair is one HOT update each.
-- As soon as anybody else comes, all places are rows of @place.
CREATE TABLE IF NOT EXISTS @line (
  name bytea PRIMARY KEY,
  capacity bigint NOT NULL,
  last bigint NOT NULL,
  places integer NOT NULL DEFAULT 0,
  weight bigint NOT NULL DEFAULT 0,
  -- No row of @place in this line lapses earlier: most requests need not look.
  lapses_from bigint NOT NULL DEFAULT 0,
  -- Until when tombstones (@dead) or observers may exist: until then the short way is closed.
  dead_until bigint NOT NULL DEFAULT 0,
  watched_until bigint NOT NULL DEFAULT 0,
  solo_id uuid,
  solo_weight bigint,
  solo_ttl bigint,
  solo_lapse bigint,
  solo_at bigint,
  solo_data text,
  solo_inbox text
) WITH (fillfactor = 50);

-- The token of the place that has become heavier than it was entered, if there is one; by how much; and the last token that was granted
-- then: places behind it and up to that one stay granted until they go, and do not count the difference. Since version 4. Processes that
-- still use version 3 count the whole weight: they are granted later than they might be, and never too early.
ALTER TABLE @line ADD COLUMN IF NOT EXISTS raised bigint;
ALTER TABLE @line ADD COLUMN IF NOT EXISTS raised_extra bigint NOT NULL DEFAULT 0;
ALTER TABLE @line ADD COLUMN IF NOT EXISTS raised_beside bigint NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS @place (
  line bytea NOT NULL,
  token bigint NOT NULL,
  id uuid NOT NULL,
  weight bigint NOT NULL,
  ttl bigint NOT NULL,
  lapse bigint NOT NULL,
  at bigint NOT NULL,
  data text NOT NULL,
  inbox text,
  -- Knows that it is granted: told, or by its own question.
  granted boolean NOT NULL,
  -- Weighs until it lapses, and is not renewed.
  broken boolean NOT NULL DEFAULT false,
  PRIMARY KEY (line, token)
) WITH (fillfactor = 70);

-- Counts the changes of its weight: a request with a lower turn is late.
ALTER TABLE @place ADD COLUMN IF NOT EXISTS turn integer NOT NULL DEFAULT 0;

CREATE INDEX IF NOT EXISTS @bare(place_id) ON @place (id);

-- Ids that left before they entered: a late enter of theirs is refused.
CREATE TABLE IF NOT EXISTS @dead (
  line bytea NOT NULL,
  id uuid NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (line, id)
);

-- A cell. value NULL: it was removed, and the row remembers by whom until it lapses. lapse NULL: lives for ever.
CREATE TABLE IF NOT EXISTS @cell (
  key bytea PRIMARY KEY,
  version bigint NOT NULL,
  value text,
  nonce text NOT NULL,
  lapse bigint
) WITH (fillfactor = 70);

-- A rate limit. Once it has lapsed it is as good as no row.
CREATE TABLE IF NOT EXISTS @bucket (
  key bytea PRIMARY KEY,
  level bigint NOT NULL,
  at bigint NOT NULL,
  refused bigint NOT NULL,
  shut_until bigint NOT NULL,
  lapse bigint NOT NULL
) WITH (fillfactor = 50);
