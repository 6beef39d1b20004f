-- Tables of the MySQL and MariaDB store, version 2. @name stands for the object of that name under the configured prefix;
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
  solo_data TEXT CHARACTER SET utf8mb4 NULL
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
-- Rows that lockInTransaction locks; they stay, as a row that is deleted could not be waited for.
CREATE TABLE IF NOT EXISTS @tx (name VARBINARY(512) NOT NULL PRIMARY KEY) ENGINE = InnoDB
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
