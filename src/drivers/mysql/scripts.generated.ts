/** Made by scripts/embed.js from the script files beside it. Do not edit. */

export const BELL: string = `CREATE PROCEDURE @ear_v2(p_line VARBINARY(512), p_id BINARY(16), p_span BIGINT)
SQL SECURITY INVOKER
BEGIN
DECLARE v_until BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + p_span;
DECLARE v_left BIGINT DEFAULT p_span;
DECLARE v_answer VARCHAR(20) DEFAULT NULL;
DECLARE v_token BIGINT;
DECLARE v_weight BIGINT;
DECLARE v_broken TINYINT;
DECLARE v_capacity BIGINT;
DECLARE v_ahead BIGINT;
DECLARE v_front BINARY(16);
DECLARE v_bell VARCHAR(64);
DECLARE v_pause DOUBLE DEFAULT 0.002;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
wait: LOOP
SET v_token = NULL, v_front = NULL, v_ahead = 0;
SELECT p.token, p.weight, p.broken, l.capacity INTO v_token, v_weight, v_broken, v_capacity
FROM @place p JOIN @line l ON l.name = p.line WHERE p.id = p_id AND p.line = p_line;
IF v_token IS NULL OR v_broken THEN
SET v_answer = '0';
LEAVE wait;
END IF;
SELECT id INTO v_front FROM @place WHERE line = p_line AND token < v_token ORDER BY token DESC LIMIT 1;
IF v_front IS NOT NULL AND v_capacity > v_weight THEN
SELECT SUM(weight) INTO v_ahead FROM @place WHERE line = p_line AND token < v_token;
END IF;
IF v_front IS NULL OR (v_capacity > v_weight AND v_ahead + v_weight <= v_capacity) THEN
SET v_answer = v_token;
LEAVE wait;
END IF;
SET v_left = v_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
IF v_left <= 0 THEN LEAVE wait; END IF;
SET v_bell = CONCAT('holdfast.', HEX(v_front));
IF v_capacity > 1 OR IS_USED_LOCK(v_bell) IS NULL THEN
DO SLEEP(LEAST(v_pause, v_left / 1000000));
SET v_pause = LEAST(v_pause * 1.25, 0.025);
ELSEIF GET_LOCK(v_bell, LEAST(1, v_left / 1000000)) = 1 THEN
DO RELEASE_LOCK(v_bell);
SET v_pause = 0.002;
END IF;
END LOOP;
SELECT v_answer AS token;
END
;;
`

export const BREAK: string = `CREATE PROCEDURE @break_v2(p_line VARBINARY(512), p_at_once TINYINT)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT;
DECLARE v_capacity BIGINT DEFAULT NULL;
DECLARE v_used BIGINT DEFAULT 0;
DECLARE v_gone BIGINT DEFAULT 0;
DECLARE v_count INT DEFAULT 0;
DECLARE v_token BIGINT;
DECLARE v_weight BIGINT;
DECLARE v_over TINYINT DEFAULT 0;
DECLARE c CURSOR FOR SELECT token, weight FROM @place WHERE line = p_line ORDER BY token;
DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
SELECT capacity INTO v_capacity FROM @line WHERE name = p_line FOR UPDATE;
IF v_capacity IS NOT NULL THEN
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
CALL @spill_v2(p_line);
CALL @tidy_v2(p_line, v_now);
SET v_over = 0;
OPEN c;
walk: LOOP
FETCH c INTO v_token, v_weight;
IF v_over OR v_used + v_weight > v_capacity THEN LEAVE walk; END IF;
SET v_used = v_used + v_weight, v_count = v_count + 1;
IF p_at_once THEN
DELETE FROM @place WHERE line = p_line AND token = v_token;
SET v_gone = v_gone + v_weight;
ELSE
UPDATE @place SET broken = 1 WHERE line = p_line AND token = v_token;
END IF;
END LOOP;
CLOSE c;
UPDATE @line SET changes = changes + 1, places = places - IF(p_at_once, v_count, 0), weight = weight - v_gone
WHERE name = p_line;
END IF;
COMMIT;
SELECT v_count AS broken;
END
;;
`

export const ENTER: string = `CREATE PROCEDURE @join_v2(
p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_capacity BIGINT, p_ttl BIGINT, p_data TEXT CHARACTER SET utf8mb4, p_wait TINYINT,
p_bell TINYINT, OUT p_answer VARCHAR(100)
)
SQL SECURITY INVOKER
enter: BEGIN
DECLARE v_now BIGINT;
DECLARE v_name VARBINARY(512) DEFAULT NULL;
DECLARE v_places INT;
DECLARE v_capacity BIGINT;
DECLARE v_weight BIGINT;
DECLARE v_from BIGINT;
DECLARE v_dead BIGINT;
DECLARE v_last BIGINT;
DECLARE v_token BIGINT DEFAULT NULL;
DECLARE v_broken TINYINT;
DECLARE v_solo BINARY(16);
DECLARE v_solo_weight BIGINT;
DECLARE v_solo_lapse BIGINT;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
SET p_answer = NULL;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
UPDATE @line SET last = LAST_INSERT_ID(GREATEST(last + 1, v_now)), capacity = p_capacity, changes = changes + 1,
solo_id = p_id, solo_weight = p_weight, solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data
WHERE name = p_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now;
IF ROW_COUNT() = 1 THEN
SET p_answer = CONCAT(LAST_INSERT_ID(), ',0,-1,0');
LEAVE enter;
END IF;
find: LOOP
SELECT name, places, weight, capacity, lapses_from, dead_until, last, solo_id, solo_weight, solo_lapse
INTO v_name, v_places, v_weight, v_capacity, v_from, v_dead, v_last, v_solo, v_solo_weight, v_solo_lapse
FROM @line WHERE name = p_line FOR UPDATE;
IF v_name IS NOT NULL THEN LEAVE find; END IF;
INSERT IGNORE INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data)
SELECT p_line, p_capacity, GREATEST(m.floor + 1, v_now), 1, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data FROM @meta m;
IF ROW_COUNT() = 1 THEN
SELECT last INTO v_last FROM @line WHERE name = p_line;
SET p_answer = CONCAT(v_last, ',0,-1,0');
LEAVE enter;
END IF;
END LOOP;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
IF NOT p_wait AND v_solo IS NOT NULL AND v_solo <> p_id AND v_solo_lapse > v_now AND v_capacity = p_capacity
AND v_solo_weight + p_weight > p_capacity THEN
LEAVE enter;
END IF;
IF v_solo IS NOT NULL OR (v_places > 0 AND v_from <= v_now) THEN
CALL @spill_v2(p_line);
CALL @tidy_v2(p_line, v_now);
SELECT places, weight, capacity, lapses_from INTO v_places, v_weight, v_capacity, v_from
FROM @line WHERE name = p_line FOR UPDATE;
END IF;
IF v_places > 0 THEN
SELECT token, broken INTO v_token, v_broken FROM @place WHERE id = p_id AND line = p_line FOR UPDATE;
END IF;
IF v_token IS NOT NULL THEN
IF NOT v_broken THEN
UPDATE @place SET lapse = v_now + ttl WHERE line = p_line AND token = v_token;
CALL @stand_v2(p_line, v_token, p_weight, v_capacity, v_now, p_answer);
END IF;
ELSEIF v_dead > v_now AND EXISTS (SELECT 1 FROM @dead WHERE line = p_line AND id = p_id AND until > v_now) THEN
SET p_answer = NULL;
ELSEIF v_places > 0 AND v_capacity <> p_capacity THEN
SET p_answer = CONCAT('capacity ', v_capacity);
ELSEIF NOT p_wait AND v_places > 0 AND v_weight + p_weight > p_capacity THEN
SET p_answer = NULL;
ELSEIF v_places = 0 THEN
SET v_last = GREATEST(v_last + 1, v_now);
UPDATE @line SET last = v_last, capacity = p_capacity, changes = changes + 1, weight = 0, solo_id = p_id, solo_weight = p_weight,
solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data
WHERE name = p_line;
SET p_answer = CONCAT(v_last, ',0,-1,0');
ELSE
SET v_last = GREATEST(v_last + 1, v_now);
IF p_bell THEN DO GET_LOCK(CONCAT('holdfast.', HEX(p_id)), 0); END IF;
INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data)
VALUES (p_line, v_last, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data);
UPDATE @line SET last = v_last, changes = changes + 1, places = places + 1, weight = weight + p_weight,
lapses_from = LEAST(lapses_from, v_now + p_ttl)
WHERE name = p_line;
SET p_answer = CONCAT(v_last, ',', v_weight, ',', v_from - v_now, ',0');
END IF;
END
;;
CREATE PROCEDURE @enter_v2(
p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_capacity BIGINT, p_ttl BIGINT, p_data TEXT CHARACTER SET utf8mb4, p_wait TINYINT,
p_bell TINYINT
)
SQL SECURITY INVOKER
BEGIN
DECLARE v_answer VARCHAR(100);
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
CALL @join_v2(p_line, p_id, p_weight, p_capacity, p_ttl, p_data, p_wait, p_bell, v_answer);
COMMIT;
SELECT v_answer AS answer;
END
;;
CREATE PROCEDURE @enter_all_v2(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
DECLARE v_out MEDIUMTEXT DEFAULT '';
DECLARE v_over TINYINT DEFAULT 0;
DECLARE v_answer VARCHAR(100);
DECLARE v_i INT;
DECLARE v_line VARBINARY(512);
DECLARE v_id BINARY(16);
DECLARE v_weight BIGINT;
DECLARE v_capacity BIGINT;
DECLARE v_ttl BIGINT;
DECLARE v_data TEXT CHARACTER SET utf8mb4;
DECLARE c CURSOR FOR SELECT t.i, UNHEX(t.line), UNHEX(t.id), t.weight, t.capacity, t.ttl, t.data FROM JSON_TABLE(p_batch, '$[*]' COLUMNS (
i FOR ORDINALITY, line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]',
weight BIGINT PATH '$[2]', capacity BIGINT PATH '$[3]', ttl BIGINT PATH '$[4]', data VARCHAR(4096) CHARACTER SET utf8mb4 PATH '$[5]'
)) t ORDER BY t.line, t.i;
DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
OPEN c;
walk: LOOP
SET v_over = 0;
FETCH c INTO v_i, v_line, v_id, v_weight, v_capacity, v_ttl, v_data;
IF v_over THEN LEAVE walk; END IF;
CALL @join_v2(v_line, v_id, v_weight, v_capacity, v_ttl, v_data, 0, 0, v_answer);
IF v_answer LIKE 'capacity %' THEN
SET v_out = CONCAT(v_answer, ',', v_i);
LEAVE walk;
END IF;
IF v_answer IS NULL OR SUBSTRING_INDEX(SUBSTRING_INDEX(v_answer, ',', 2), ',', -1) + v_weight > v_capacity THEN
SET v_out = NULL;
LEAVE walk;
END IF;
SET v_out = CONCAT(v_out, v_i, ':', v_answer, ';');
END LOOP;
CLOSE c;
IF v_out IS NULL OR v_out LIKE 'capacity %' THEN ROLLBACK; ELSE COMMIT; END IF;
SELECT v_out AS answers;
END
;;
CREATE PROCEDURE @rename_v2(p_line VARBINARY(512), p_id BINARY(16), p_new BINARY(16), p_ttl BIGINT, p_data TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT;
DECLARE v_capacity BIGINT DEFAULT NULL;
DECLARE v_token BIGINT DEFAULT NULL;
DECLARE v_weight BIGINT;
DECLARE v_id BINARY(16);
DECLARE v_answer VARCHAR(100) DEFAULT NULL;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
SELECT capacity INTO v_capacity FROM @line WHERE name = p_line FOR UPDATE;
IF v_capacity IS NOT NULL THEN
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
CALL @spill_v2(p_line);
CALL @tidy_v2(p_line, v_now);
SELECT token, weight, id INTO v_token, v_weight, v_id FROM @place
WHERE line = p_line AND id IN (p_id, p_new) AND NOT broken FOR UPDATE;
IF v_token IS NOT NULL THEN
UPDATE @place SET id = p_new, ttl = p_ttl, lapse = v_now + p_ttl, data = p_data WHERE line = p_line AND token = v_token;
IF v_id <> p_new THEN
INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl) ON DUPLICATE KEY UPDATE until = v_now + p_ttl;
UPDATE @line SET dead_until = GREATEST(dead_until, v_now + p_ttl) WHERE name = p_line;
END IF;
UPDATE @line SET changes = changes + 1, lapses_from = LEAST(lapses_from, v_now + p_ttl) WHERE name = p_line;
CALL @stand_v2(p_line, v_token, v_weight, v_capacity, v_now, v_answer);
END IF;
END IF;
COMMIT;
SELECT v_answer AS answer;
END
;;
`

export const LEAVE: string = `CREATE PROCEDURE @leave_v2(p_line VARBINARY(512), p_id BINARY(16), p_ttl BIGINT, p_after BIGINT, p_bell TINYINT)
SQL SECURITY INVOKER
go: BEGIN
DECLARE v_now BIGINT;
DECLARE v_name VARBINARY(512) DEFAULT NULL;
DECLARE v_token BIGINT DEFAULT NULL;
DECLARE v_weight BIGINT;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
IF p_after = 0 THEN
UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1 WHERE name = p_line AND solo_id = p_id;
IF ROW_COUNT() = 1 THEN
COMMIT;
LEAVE go;
END IF;
END IF;
find: LOOP
SELECT name INTO v_name FROM @line WHERE name = p_line FOR UPDATE;
IF v_name IS NOT NULL THEN LEAVE find; END IF;
INSERT IGNORE INTO @line (name, capacity, last) SELECT p_line, 1, m.floor FROM @meta m;
END LOOP;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
CALL @spill_v2(p_line);
SELECT token, weight INTO v_token, v_weight FROM @place WHERE id = p_id AND line = p_line FOR UPDATE;
IF v_token IS NULL THEN
DELETE FROM @dead WHERE line = p_line AND until <= v_now;
INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl) ON DUPLICATE KEY UPDATE until = v_now + p_ttl;
UPDATE @line SET dead_until = GREATEST(dead_until, v_now + p_ttl) WHERE name = p_line;
ELSEIF p_after = 0 THEN
DELETE FROM @place WHERE line = p_line AND token = v_token;
UPDATE @line SET changes = changes + 1, places = places - 1, weight = weight - v_weight WHERE name = p_line;
ELSE
UPDATE @place SET broken = 1, lapse = v_now + p_after WHERE line = p_line AND token = v_token;
UPDATE @line SET changes = changes + 1, lapses_from = LEAST(lapses_from, v_now + p_after) WHERE name = p_line;
END IF;
CALL @tidy_v2(p_line, v_now);
COMMIT;
IF p_bell THEN DO RELEASE_LOCK(CONCAT('holdfast.', HEX(p_id))); END IF;
END
;;
`

export const LOOK: string = `CREATE PROCEDURE @poll_v2(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
WITH u AS (
SELECT UNHEX(t.line) AS line, UNHEX(t.id) AS id FROM JSON_TABLE(p_batch, '$[*]' COLUMNS (
line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]'
)) t
), s AS (
SELECT p.id, p.broken, SUM(p.weight) OVER (PARTITION BY p.line ORDER BY p.token) AS upto, l.capacity
FROM (SELECT DISTINCT line FROM u) w JOIN @line l ON l.name = w.line JOIN @place p ON p.line = w.line
WHERE p.lapse > v_now
)
SELECT LOWER(HEX(u.id)) AS id FROM u LEFT JOIN s ON s.id = u.id WHERE s.id IS NULL OR s.broken OR s.upto <= s.capacity;
END
;;
CREATE PROCEDURE @list_v2(p_prefix VARBINARY(512))
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
SELECT HEX(s.line) AS name, CAST(s.capacity AS CHAR) AS capacity, CAST(s.token AS CHAR) AS token, CAST(s.weight AS CHAR) AS weight,
CAST(v_now - s.at AS CHAR) AS age, CAST(s.lapse - v_now AS CHAR) AS rest, s.data
FROM (
SELECT name AS line, capacity, last AS token, solo_weight AS weight, solo_at AS at, solo_lapse AS lapse, solo_data AS data
FROM @line WHERE solo_id IS NOT NULL AND name >= p_prefix AND LEFT(name, LENGTH(p_prefix)) = p_prefix
UNION ALL
SELECT l.name, l.capacity, p.token, p.weight, p.at, p.lapse, p.data FROM @line l JOIN @place p ON p.line = l.name
WHERE l.name >= p_prefix AND LEFT(l.name, LENGTH(p_prefix)) = p_prefix
) s WHERE s.lapse > v_now ORDER BY s.line, s.token;
END
;;
CREATE PROCEDURE @stamps_v2(p_lines MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
SELECT HEX(l.name) AS name, CAST(l.changes AS CHAR) AS changes FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (
line VARCHAR(1024) CHARACTER SET ascii PATH '$'
)) t JOIN @line l ON l.name = UNHEX(t.line);
END
;;
`

export const SCHEMA: string = `CREATE TABLE IF NOT EXISTS @meta (
one TINYINT NOT NULL PRIMARY KEY,
version INT NOT NULL,
floor BIGINT NOT NULL
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @line (
name VARBINARY(512) NOT NULL PRIMARY KEY,
capacity BIGINT NOT NULL,
last BIGINT NOT NULL,
changes BIGINT NOT NULL DEFAULT 0,
places INT NOT NULL DEFAULT 0,
weight BIGINT NOT NULL DEFAULT 0,
lapses_from BIGINT NOT NULL DEFAULT 0,
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
broken TINYINT NOT NULL DEFAULT 0,
PRIMARY KEY (line, token),
KEY by_id (id)
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @dead (
line VARBINARY(512) NOT NULL,
id BINARY(16) NOT NULL,
until BIGINT NOT NULL,
PRIMARY KEY (line, id)
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @cell (
name VARBINARY(512) NOT NULL PRIMARY KEY,
version BIGINT NOT NULL,
value MEDIUMTEXT CHARACTER SET utf8mb4 NULL,
nonce VARBINARY(64) NOT NULL,
lapse BIGINT NULL
) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @tx (name VARBINARY(512) NOT NULL PRIMARY KEY) ENGINE = InnoDB
;;
CREATE TABLE IF NOT EXISTS @bucket (
name VARBINARY(512) NOT NULL PRIMARY KEY,
level BIGINT NOT NULL,
at BIGINT NOT NULL,
refused BIGINT NOT NULL,
shut_until BIGINT NOT NULL,
lapse BIGINT NOT NULL
) ENGINE = InnoDB
;;
`

export const STEP: string = `CREATE PROCEDURE @spill_v2(p_line VARBINARY(512))
SQL SECURITY INVOKER
BEGIN
INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data)
SELECT name, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data FROM @line
WHERE name = p_line AND solo_id IS NOT NULL;
IF ROW_COUNT() > 0 THEN
UPDATE @line SET places = 1, weight = solo_weight, lapses_from = solo_lapse, solo_id = NULL, solo_data = NULL
WHERE name = p_line;
END IF;
END
;;
CREATE PROCEDURE @tidy_v2(p_line VARBINARY(512), p_now BIGINT)
SQL SECURITY INVOKER
BEGIN
DECLARE v_places INT;
DECLARE v_weight BIGINT;
DECLARE v_from BIGINT;
DECLARE v_due TINYINT DEFAULT 0;
SELECT places > 0 AND lapses_from <= p_now INTO v_due FROM @line WHERE name = p_line FOR UPDATE;
IF v_due THEN
DELETE FROM @place WHERE line = p_line AND lapse <= p_now;
SELECT COUNT(*), COALESCE(SUM(weight), 0), COALESCE(MIN(lapse), 0) INTO v_places, v_weight, v_from
FROM @place WHERE line = p_line FOR UPDATE;
UPDATE @line SET changes = changes + (places <> v_places), places = v_places, weight = v_weight, lapses_from = v_from
WHERE name = p_line;
END IF;
END
;;
CREATE PROCEDURE @stand_v2(p_line VARBINARY(512), p_token BIGINT, p_weight BIGINT, p_capacity BIGINT, p_now BIGINT, OUT p_answer VARCHAR(100))
SQL SECURITY INVOKER
BEGIN
DECLARE v_ahead BIGINT;
DECLARE v_lapse BIGINT;
DECLARE v_wanted TINYINT;
SELECT COALESCE(SUM(f.weight), 0), MIN(f.lapse) INTO v_ahead, v_lapse FROM (
SELECT weight, lapse FROM @place WHERE line = p_line AND token < p_token ORDER BY token LIMIT 8
) f;
IF v_ahead + p_weight <= p_capacity THEN
SELECT COALESCE(SUM(weight), 0), MIN(lapse) INTO v_ahead, v_lapse FROM @place WHERE line = p_line AND token < p_token;
END IF;
SELECT EXISTS (SELECT 1 FROM @place WHERE line = p_line AND token > p_token) INTO v_wanted;
SET p_answer = CONCAT(p_token, ',', v_ahead, ',', COALESCE(v_lapse - p_now, -1), ',', v_wanted);
END
;;
`

export const SWAP: string = `CREATE PROCEDURE @swap_v2(
p_key VARBINARY(512), p_write TINYINT, p_version BIGINT, p_next MEDIUMTEXT CHARACTER SET utf8mb4, p_ttl BIGINT, p_nonce VARBINARY(64)
)
SQL SECURITY INVOKER
swap: BEGIN
DECLARE v_now BIGINT;
DECLARE v_name VARBINARY(512);
DECLARE v_stored BIGINT;
DECLARE v_version BIGINT;
DECLARE v_value MEDIUMTEXT CHARACTER SET utf8mb4;
DECLARE v_nonce VARBINARY(64);
DECLARE v_lapse BIGINT;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
try: LOOP
SET v_name = NULL, v_stored = NULL, v_value = NULL, v_nonce = NULL, v_lapse = NULL;
IF p_write THEN
SELECT name, version, value, nonce, lapse INTO v_name, v_stored, v_value, v_nonce, v_lapse FROM @cell WHERE name = p_key FOR UPDATE;
ELSE
SELECT name, version, value, nonce, lapse INTO v_name, v_stored, v_value, v_nonce, v_lapse FROM @cell WHERE name = p_key;
END IF;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
IF v_lapse IS NOT NULL AND v_lapse <= v_now THEN SET v_value = NULL, v_nonce = NULL; END IF;
SET v_version = IF(v_value IS NULL, 0, v_stored);
IF NOT p_write OR COALESCE(v_nonce = p_nonce, 0) OR v_version <> p_version THEN
ROLLBACK;
SELECT CAST(v_version AS CHAR) AS version, v_value AS value, CONVERT(v_nonce USING ascii) AS nonce;
LEAVE swap;
END IF;
SET v_lapse = IF(p_next IS NULL, v_now + 600000000, IF(p_ttl = 0, NULL, v_now + p_ttl));
IF v_name IS NULL THEN
INSERT IGNORE INTO @cell (name, version, value, nonce, lapse)
SELECT p_key, GREATEST(m.floor + 1, v_now), p_next, p_nonce, v_lapse FROM @meta m;
IF ROW_COUNT() = 1 THEN LEAVE try; END IF;
ELSE
UPDATE @cell SET version = GREATEST(version + 1, v_now), value = p_next, nonce = p_nonce, lapse = v_lapse WHERE name = p_key;
LEAVE try;
END IF;
END LOOP;
SELECT version INTO v_version FROM @cell WHERE name = p_key;
COMMIT;
SELECT CAST(IF(p_next IS NULL, 0, v_version) AS CHAR) AS version, p_next AS value, CONVERT(p_nonce USING ascii) AS nonce;
END
;;
`

export const SWEEP: string = `CREATE PROCEDURE @sweep_v2(p_idle BIGINT, p_max INT)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT;
DECLARE v_floor BIGINT DEFAULT NULL;
DECLARE v_count INT DEFAULT 0;
DECLARE v_line VARBINARY(512);
DECLARE v_last BIGINT;
DECLARE v_places INT;
DECLARE v_over TINYINT DEFAULT 0;
DECLARE c CURSOR FOR SELECT name FROM @line
WHERE last < v_now - p_idle AND dead_until <= v_now AND (solo_id IS NULL OR solo_lapse <= v_now - p_idle)
AND (places = 0 OR lapses_from <= v_now - p_idle) LIMIT p_max;
DECLARE d CURSOR FOR SELECT name FROM @cell WHERE lapse <= v_now - p_idle LIMIT p_max;
DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
SELECT floor INTO v_floor FROM @meta WHERE one = 1 FOR UPDATE SKIP LOCKED;
IF v_floor IS NOT NULL THEN
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
SET v_over = 0;
OPEN c;
walk: LOOP
SET v_over = 0;
FETCH c INTO v_line;
IF v_over THEN LEAVE walk; END IF;
SET v_last = NULL;
SELECT last INTO v_last FROM @line WHERE name = v_line AND last < v_now - p_idle AND dead_until <= v_now
AND (solo_id IS NULL OR solo_lapse <= v_now - p_idle) FOR UPDATE SKIP LOCKED;
IF v_last IS NULL THEN ITERATE walk; END IF;
CALL @spill_v2(v_line);
CALL @tidy_v2(v_line, v_now);
SELECT places, last INTO v_places, v_last FROM @line WHERE name = v_line FOR UPDATE;
IF v_places = 0 THEN
DELETE FROM @dead WHERE line = v_line;
DELETE FROM @line WHERE name = v_line;
SET v_floor = GREATEST(v_floor, v_last), v_count = v_count + 1;
END IF;
END LOOP;
CLOSE c;
OPEN d;
cells: LOOP
SET v_over = 0;
FETCH d INTO v_line;
IF v_over THEN LEAVE cells; END IF;
SET v_last = NULL;
SELECT version INTO v_last FROM @cell WHERE name = v_line AND lapse <= v_now - p_idle FOR UPDATE SKIP LOCKED;
IF v_last IS NULL THEN ITERATE cells; END IF;
DELETE FROM @cell WHERE name = v_line;
SET v_floor = GREATEST(v_floor, v_last), v_count = v_count + 1;
END LOOP;
CLOSE d;
DELETE FROM @bucket WHERE lapse <= v_now - p_idle ORDER BY name LIMIT p_max;
SET v_count = v_count + ROW_COUNT();
UPDATE @meta SET floor = v_floor WHERE one = 1;
END IF;
COMMIT;
SELECT v_count AS swept;
END
;;
`

export const TAKE: string = `CREATE PROCEDURE @take_v2(
p_key VARBINARY(512), p_cost BIGINT, p_burst BIGINT, p_unit BIGINT, p_drain BIGINT, p_shut_after BIGINT, p_shut BIGINT
)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT;
DECLARE v_level BIGINT DEFAULT NULL;
DECLARE v_at BIGINT;
DECLARE v_refused BIGINT;
DECLARE v_shut_until BIGINT;
DECLARE v_gone BIGINT;
DECLARE v_need BIGINT DEFAULT p_cost * p_unit;
DECLARE v_room BIGINT;
DECLARE v_retry BIGINT DEFAULT 0;
DECLARE v_taken TINYINT DEFAULT 0;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
find: LOOP
SELECT level, at, refused, shut_until INTO v_level, v_at, v_refused, v_shut_until FROM @bucket WHERE name = p_key FOR UPDATE;
IF v_level IS NOT NULL THEN LEAVE find; END IF;
INSERT IGNORE INTO @bucket VALUES (p_key, 0, 0, 0, 0, 0);
END LOOP;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
SET v_gone = GREATEST(0, v_now - v_at);
SET v_level = IF(v_gone >= v_level DIV p_drain + 1, 0, GREATEST(0, v_level - v_gone * p_drain));
IF v_level = 0 AND v_shut_until <= v_now THEN SET v_refused = 0; END IF;
SET v_room = p_burst * p_unit - v_level;
IF v_shut_until > v_now THEN
SET v_retry = v_shut_until - v_now;
ELSEIF v_need <= v_room THEN
SET v_taken = 1, v_level = v_level + v_need;
ELSE
SET v_refused = v_refused + p_cost, v_retry = (v_need - v_room + p_drain - 1) DIV p_drain;
IF p_shut_after > 0 AND v_refused > p_shut_after THEN
SET v_shut_until = v_now + p_shut, v_refused = 0, v_retry = p_shut;
END IF;
END IF;
IF v_shut_until <= v_now THEN SET v_shut_until = 0; END IF;
UPDATE @bucket SET level = v_level, at = v_now, refused = v_refused, shut_until = v_shut_until,
lapse = GREATEST(v_now + (v_level + p_drain - 1) DIV p_drain, v_shut_until)
WHERE name = p_key;
COMMIT;
SELECT CONCAT(v_taken, ',', v_level, ',', v_retry, ',', v_shut_until > 0) AS answer;
END
;;
`

export const TOUCH: string = `CREATE PROCEDURE @touch_v2(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
DECLARE v_now BIGINT;
DECLARE v_out MEDIUMTEXT DEFAULT '';
DECLARE v_answer VARCHAR(100);
DECLARE v_over TINYINT DEFAULT 0;
DECLARE v_i INT;
DECLARE v_line VARBINARY(512);
DECLARE v_last VARBINARY(512) DEFAULT NULL;
DECLARE v_id BINARY(16);
DECLARE v_capacity BIGINT;
DECLARE v_token BIGINT;
DECLARE v_weight BIGINT;
DECLARE c CURSOR FOR SELECT t.i, UNHEX(t.line), UNHEX(t.id) FROM JSON_TABLE(p_batch, '$[*]' COLUMNS (
i FOR ORDINALITY, line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]'
)) t ORDER BY t.line, t.i;
DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
OPEN c;
walk: LOOP
SET v_over = 0;
FETCH c INTO v_i, v_line, v_id;
IF v_over THEN LEAVE walk; END IF;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
UPDATE @line SET solo_lapse = GREATEST(solo_lapse + 1, v_now + solo_ttl), last = LAST_INSERT_ID(last)
WHERE name = v_line AND solo_id = v_id AND solo_lapse > v_now;
IF ROW_COUNT() > 0 THEN
SET v_out = CONCAT(v_out, v_i, ':', LAST_INSERT_ID(), ',0,-1,0;');
ITERATE walk;
END IF;
IF v_last IS NULL OR v_last <> v_line THEN
SET v_last = v_line, v_capacity = NULL;
SELECT capacity INTO v_capacity FROM @line WHERE name = v_line AND places > 0 FOR UPDATE;
SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
IF v_capacity IS NOT NULL THEN CALL @tidy_v2(v_line, v_now); END IF;
END IF;
IF v_capacity IS NULL THEN ITERATE walk; END IF;
SET v_token = NULL;
SELECT token, weight INTO v_token, v_weight FROM @place WHERE id = v_id AND line = v_line AND NOT broken FOR UPDATE;
IF v_token IS NOT NULL THEN
UPDATE @place SET lapse = v_now + ttl WHERE line = v_line AND token = v_token;
CALL @stand_v2(v_line, v_token, v_weight, v_capacity, v_now, v_answer);
SET v_out = CONCAT(v_out, v_i, ':', v_answer, ';');
END IF;
END LOOP;
CLOSE c;
COMMIT;
SELECT v_out AS answers;
END
;;
`
