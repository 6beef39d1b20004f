-- Tables of the MySQL and MariaDB store, version 6. @name stands for the object of that name under the configured prefix;
-- `;;` on a line of its own ends a statement.
-- All times and spans are whole microseconds; times since 1970 by UTC_TIMESTAMP(6). Tokens come from the same clock.

CREATE TABLE IF NOT EXISTS @meta (
  one TINYINT NOT NULL PRIMARY KEY,
  version INT NOT NULL,
  -- No token or version of a row that was swept is above this one.
  floor BIGINT NOT NULL
) ENGINE = InnoDB
;;
-- A line, one row by the unique index on its name: the lock under which everything about it changes.
-- A place that stands alone lives in the row itself (solo_*, token = last); a crowd is rows of @place.
CREATE TABLE IF NOT EXISTS @line (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  capacity BIGINT NOT NULL,
  last BIGINT NOT NULL,
  -- Raised by whatever observers of the line may want to see.
  changes BIGINT NOT NULL DEFAULT 0,
  places INT NOT NULL DEFAULT 0,
  weight BIGINT NOT NULL DEFAULT 0,
  -- No row of @place in this line lapses earlier: most requests need not look.
  lapses_from BIGINT NOT NULL DEFAULT 0,
  -- Until when tombstones (@dead) may exist.
  dead_until BIGINT NOT NULL DEFAULT 0,
  solo_id BINARY(16) NULL,
  solo_weight BIGINT NULL,
  solo_ttl BIGINT NULL,
  solo_lapse BIGINT NULL,
  solo_at BIGINT NULL,
  solo_data TEXT CHARACTER SET utf8mb4 NULL,
  -- The token of the place that has become heavier than it was entered, if there is one; by how much; and the last token that was granted
  -- then: places behind it and up to that one stay granted until they go, and do not count the difference. Since version 3. Processes that
  -- still use version 2 count the whole weight: they are granted later than they might be, and never too early.
  raised BIGINT NULL,
  raised_extra BIGINT NOT NULL DEFAULT 0,
  raised_beside BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @place (
  line VARBINARY(512) NOT NULL,
  token BIGINT NOT NULL,
  id BINARY(16) NOT NULL,
  weight BIGINT NOT NULL,
  ttl BIGINT NOT NULL,
  lapse BIGINT NOT NULL,
  at BIGINT NOT NULL,
  data TEXT CHARACTER SET utf8mb4 NOT NULL,
  -- Weighs until it lapses, and is not renewed.
  broken TINYINT NOT NULL DEFAULT 0,
  -- Counts the changes of its weight: a request with a lower turn is late. Since version 3.
  turn INT NOT NULL DEFAULT 0,
  PRIMARY KEY (line, token),
  KEY by_id (id)
) ENGINE = InnoDB
;;
-- Ids that left before they entered: a late enter of theirs is refused.
CREATE TABLE IF NOT EXISTS @dead (
  line VARBINARY(512) NOT NULL,
  id BINARY(16) NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (line, id)
) ENGINE = InnoDB
;;
-- A cell. value NULL: it was removed, and the row remembers by whom until it lapses. lapse NULL: lives for ever.
CREATE TABLE IF NOT EXISTS @cell (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL,
  value MEDIUMTEXT CHARACTER SET utf8mb4 NULL,
  nonce VARBINARY(64) NOT NULL,
  lapse BIGINT NULL
) ENGINE = InnoDB
;;
-- What lockInTransaction locks: names are shared out among these by their hash, and no row ever comes or goes. A row of its own for each name
-- would be inserted by the first who holds it; when that one rolls back, all who waited for the row want to insert it, each in a gap
-- that the others have locked: a deadlock. The stamp changes with every hold.
CREATE TABLE IF NOT EXISTS @slot (slot INT NOT NULL PRIMARY KEY, stamp BIGINT NOT NULL) ENGINE = InnoDB
;;
INSERT IGNORE INTO @slot (slot, stamp)
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255)
SELECT a.i * 256 + b.i, 0 FROM n a, n b
;;
-- A rate limit. Once it has lapsed it is as good as no row.
CREATE TABLE IF NOT EXISTS @bucket (
  name VARBINARY(512) NOT NULL PRIMARY KEY,
  level BIGINT NOT NULL,
  at BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  shut_until BIGINT NOT NULL,
  lapse BIGINT NOT NULL
) ENGINE = InnoDB
;;
