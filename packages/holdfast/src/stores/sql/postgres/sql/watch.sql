-- observe_v6(lines, span): whoever changes one of these lines in that span tells @channel. lines: hex, joined by commas.
CREATE OR REPLACE FUNCTION @observe_v6(p_lines text, p_span bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  INSERT INTO @line (name, capacity, last, watched_until)
  SELECT decode(u.hex, 'hex'), 1, m.floor, @now_v6() + p_span
  FROM unnest(string_to_array(p_lines, ',')) u(hex), @meta m ORDER BY 1
  ON CONFLICT (name) DO UPDATE SET watched_until = greatest(@bare(line).watched_until, excluded.watched_until)
$$;

-- poll_v6(lines, ids) -> those that should look: gone, broken, or granted if the lapsed are no more. A hint: touch decides.
CREATE OR REPLACE FUNCTION @poll_v6(p_lines text, p_ids text) RETURNS SETOF text LANGUAGE sql VOLATILE AS $$
  WITH u AS (
    SELECT decode(h.hex, 'hex') AS line, i.id::uuid AS id
    FROM unnest(string_to_array(p_lines, ','), string_to_array(p_ids, ',')) AS h(hex, id), LATERAL (SELECT h.id) i(id)
  ), s AS (
    SELECT p.id, p.broken, l.capacity, CASE
        WHEN p.token = l.raised THEN sum(p.weight) FILTER (WHERE p.token <= l.raised_beside) OVER (PARTITION BY p.line)
        ELSE sum(p.weight) OVER (PARTITION BY p.line ORDER BY p.token)
          - CASE WHEN p.token BETWEEN l.raised AND l.raised_beside THEN l.raised_extra ELSE 0 END
      END AS upto
    FROM @place p JOIN @line l ON l.name = p.line
    WHERE p.line IN (SELECT line FROM u) AND p.lapse > @now_v6()
  )
  SELECT replace(u.id::text, '-', '') FROM u LEFT JOIN s ON s.id = u.id
  WHERE s.id IS NULL OR s.broken OR s.upto <= s.capacity
$$;

-- list_v6(prefix) -> one row per place: name (hex), capacity, token, weight, age, left (µs), data, held (0, 1); by name, then token.
CREATE OR REPLACE FUNCTION @list_v6(p_prefix bytea)
RETURNS TABLE (name text, capacity bigint, token bigint, weight bigint, age bigint, rest bigint, data text, held integer)
LANGUAGE sql VOLATILE AS $$
  WITH t AS MATERIALIZED (SELECT @now_v6() AS now),
  l AS (SELECT * FROM @line k WHERE k.name >= p_prefix AND substring(k.name FROM 1 FOR length(p_prefix)) = p_prefix)
  SELECT encode(s.line, 'hex'), s.capacity, s.token, s.weight, t.now - s.at, s.lapse - t.now, s.data,
    (sum(s.weight) OVER (PARTITION BY s.line ORDER BY s.token) - s.spared <= s.capacity)::integer
  FROM t, (
    SELECT l.name AS line, l.capacity, l.last AS token, l.solo_weight AS weight, l.solo_at AS at, l.solo_lapse AS lapse,
      l.solo_data AS data, 0::bigint AS spared FROM l WHERE l.solo_id IS NOT NULL
    UNION ALL
    SELECT l.name, l.capacity, p.token, p.weight, p.at, p.lapse, p.data,
      CASE WHEN p.token BETWEEN l.raised AND l.raised_beside THEN l.raised_extra ELSE 0 END
    FROM l JOIN @place p ON p.line = l.name
  ) s WHERE s.lapse > t.now ORDER BY s.line, s.token
$$;
