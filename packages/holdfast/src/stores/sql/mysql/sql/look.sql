-- poll_v6(batch) -> ids (hex) that should look: gone, broken, or granted if the lapsed are no more. A hint: touch decides.
--   batch: JSON array of [line, id], both hex. One row for each line is counted, however many wait in it.
CREATE PROCEDURE @poll_v6(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  WITH u AS (
    SELECT UNHEX(t.line) AS line, UNHEX(t.id) AS id FROM JSON_TABLE(p_batch, '$[*]' COLUMNS (
      line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]'
    )) t
  ), s AS (
    SELECT p.id, p.broken, l.capacity, IF(p.token <=> l.raised,
        SUM(IF(p.token <= l.raised_beside, p.weight, 0)) OVER (PARTITION BY p.line), SUM(p.weight) OVER (PARTITION BY p.line ORDER BY p.token)
      ) - IF(p.token > l.raised AND p.token <= l.raised_beside, l.raised_extra, 0) AS upto
    FROM (SELECT DISTINCT line FROM u) w JOIN @line l ON l.name = w.line JOIN @place p ON p.line = w.line
    WHERE p.lapse > v_now
  )
  SELECT LOWER(HEX(u.id)) AS id FROM u LEFT JOIN s ON s.id = u.id WHERE s.id IS NULL OR s.broken OR s.upto <= s.capacity;
END
;;
-- list_v6(prefix) -> one row per place: name (hex), capacity, token, weight, age, left (µs), data, held (0, 1); by name, then token.
CREATE PROCEDURE @list_v6(p_prefix VARBINARY(512))
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  SELECT HEX(s.line) AS name, CAST(s.capacity AS CHAR) AS capacity, CAST(s.token AS CHAR) AS token, CAST(s.weight AS CHAR) AS weight,
    CAST(v_now - s.at AS CHAR) AS age, CAST(s.lapse - v_now AS CHAR) AS rest, CONVERT(s.data USING binary) AS data,
    SUM(s.weight) OVER (PARTITION BY s.line ORDER BY s.token) - s.spared <= s.capacity AS held
  FROM (
    SELECT name AS line, capacity, last AS token, solo_weight AS weight, solo_at AS at, solo_lapse AS lapse, solo_data AS data, 0 AS spared
    FROM @line WHERE solo_id IS NOT NULL AND name >= p_prefix AND LEFT(name, LENGTH(p_prefix)) = p_prefix
    UNION ALL
    SELECT l.name, l.capacity, p.token, p.weight, p.at, p.lapse, p.data, IF(p.token BETWEEN l.raised AND l.raised_beside, l.raised_extra, 0)
    FROM @line l JOIN @place p ON p.line = l.name
    WHERE l.name >= p_prefix AND LEFT(l.name, LENGTH(p_prefix)) = p_prefix
  ) s WHERE s.lapse > v_now ORDER BY s.line, s.token;
END
;;
-- stamps_v6(lines) -> name (hex) and a number that changes with the line. lines: JSON array of hex.
CREATE PROCEDURE @stamps_v6(p_lines MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
  SELECT HEX(l.name) AS name, CAST(l.changes AS CHAR) AS changes FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (
    line VARCHAR(1024) CHARACTER SET ascii PATH '$'
  )) t JOIN @line l ON l.name = UNHEX(t.line);
END
;;
