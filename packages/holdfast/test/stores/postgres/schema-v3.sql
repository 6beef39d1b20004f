-- The schema of version 3 as `holdfast migrate --print` showed it, for the test that brings it up to date. Comments are left out.
CREATE TABLE IF NOT EXISTS "public"."holdfast_meta" (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  floor bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS "public"."holdfast_line" (
  name bytea PRIMARY KEY,
  capacity bigint NOT NULL,
  last bigint NOT NULL,
  places integer NOT NULL DEFAULT 0,
  weight bigint NOT NULL DEFAULT 0,
  lapses_from bigint NOT NULL DEFAULT 0,
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
CREATE TABLE IF NOT EXISTS "public"."holdfast_place" (
  line bytea NOT NULL,
  token bigint NOT NULL,
  id uuid NOT NULL,
  weight bigint NOT NULL,
  ttl bigint NOT NULL,
  lapse bigint NOT NULL,
  at bigint NOT NULL,
  data text NOT NULL,
  inbox text,
  granted boolean NOT NULL,
  broken boolean NOT NULL DEFAULT false,
  PRIMARY KEY (line, token)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS "holdfast_place_id" ON "public"."holdfast_place" (id);
CREATE TABLE IF NOT EXISTS "public"."holdfast_dead" (
  line bytea NOT NULL,
  id uuid NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (line, id)
);
CREATE TABLE IF NOT EXISTS "public"."holdfast_cell" (
  key bytea PRIMARY KEY,
  version bigint NOT NULL,
  value text,
  nonce text NOT NULL,
  lapse bigint
) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS "public"."holdfast_bucket" (
  key bytea PRIMARY KEY,
  level bigint NOT NULL,
  at bigint NOT NULL,
  refused bigint NOT NULL,
  shut_until bigint NOT NULL,
  lapse bigint NOT NULL
) WITH (fillfactor = 50);
CREATE OR REPLACE FUNCTION "public"."holdfast_now_v3"() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_lock_v3"(p_line bytea) RETURNS "public"."holdfast_line" LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  SELECT * INTO l FROM "public"."holdfast_line" WHERE name = p_line FOR UPDATE;
  RETURN l;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_save_v3"(l "public"."holdfast_line") RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE "public"."holdfast_line" SET capacity = l.capacity, last = l.last, places = l.places, weight = l.weight,
    lapses_from = l.lapses_from, dead_until = l.dead_until, watched_until = l.watched_until,
    solo_id = l.solo_id, solo_weight = l.solo_weight, solo_ttl = l.solo_ttl, solo_lapse = l.solo_lapse,
    solo_at = l.solo_at, solo_data = l.solo_data, solo_inbox = l.solo_inbox
  WHERE name = l.name;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_spill_v3"(l "public"."holdfast_line") RETURNS "public"."holdfast_line" LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF l.solo_id IS NULL THEN RETURN l; END IF;
  INSERT INTO "public"."holdfast_place" (line, token, id, weight, ttl, lapse, at, data, inbox, granted)
  VALUES (l.name, l.last, l.solo_id, l.solo_weight, l.solo_ttl, l.solo_lapse, l.solo_at, l.solo_data, l.solo_inbox, true);
  l.places := 1;
  l.weight := l.solo_weight;
  l.lapses_from := l.solo_lapse;
  l.solo_id := NULL;
  l.solo_data := NULL;
  l.solo_inbox := NULL;
  RETURN l;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_tidy_v3"(l "public"."holdfast_line", p_now bigint, p_removed boolean) RETURNS "public"."holdfast_line" LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p record;
  v_used bigint := 0;
  v_count bigint;
BEGIN
  IF l.places > 0 AND l.lapses_from <= p_now THEN
    DELETE FROM "public"."holdfast_place" WHERE line = l.name AND lapse <= p_now;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    p_removed := p_removed OR v_count > 0;
    SELECT count(*), coalesce(sum(weight), 0), coalesce(min(lapse), 0) INTO l.places, l.weight, l.lapses_from
    FROM "public"."holdfast_place" WHERE line = l.name;
  END IF;
  IF p_removed AND l.places > 0 THEN
    FOR p IN SELECT token, id, weight, inbox, granted FROM "public"."holdfast_place" WHERE line = l.name ORDER BY token LOOP
      v_used := v_used + p.weight;
      EXIT WHEN v_used > l.capacity;
      IF NOT p.granted THEN
        UPDATE "public"."holdfast_place" SET granted = true WHERE line = l.name AND token = p.token;
        IF p.inbox IS NOT NULL THEN
          PERFORM pg_notify(p.inbox, replace(p.id::text, '-', '') || ' ' || p.token);
        END IF;
      END IF;
    END LOOP;
  END IF;
  RETURN l;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_tell_v3"(l "public"."holdfast_line", p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF l.watched_until > p_now THEN
    PERFORM pg_notify('holdfast.public', encode(l.name, 'hex'));
  END IF;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_stand_v3"(p_line bytea, p_token bigint, p_now bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT p_token || ',' || coalesce(sum(weight) FILTER (WHERE token < p_token), 0) || ',' ||
    coalesce(min(lapse) FILTER (WHERE token < p_token) - p_now, -1) || ',' ||
    count(*) FILTER (WHERE token > p_token)
  FROM "public"."holdfast_place" WHERE line = p_line
$$;
CREATE OR REPLACE FUNCTION "public"."holdfast_enter_v3"(
  p_line bytea, p_id uuid, p_weight bigint, p_capacity bigint, p_ttl bigint, p_data text, p_inbox text, p_wait boolean
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  p record;
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_token bigint;
  v_due boolean;
BEGIN
  UPDATE "public"."holdfast_line" SET last = greatest(last + 1, v_now), capacity = p_capacity, solo_id = p_id, solo_weight = p_weight,
    solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data, solo_inbox = p_inbox
  WHERE name = p_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now AND watched_until <= v_now
  RETURNING last INTO v_token;
  IF FOUND THEN RETURN v_token || ',0,-1,0'; END IF;
  LOOP
    l := "public"."holdfast_lock_v3"(p_line);
    EXIT WHEN l.name IS NOT NULL;
    INSERT INTO "public"."holdfast_line" (name, capacity, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data, solo_inbox)
    SELECT p_line, p_capacity, greatest(m.floor + 1, v_now), p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data, p_inbox
    FROM "public"."holdfast_meta" m
    ON CONFLICT DO NOTHING RETURNING last INTO v_token;
    IF FOUND THEN RETURN v_token || ',0,-1,0'; END IF;
  END LOOP;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  IF NOT p_wait AND l.solo_id <> p_id AND l.solo_lapse > v_now AND l.capacity = p_capacity
    AND l.solo_weight + p_weight > p_capacity THEN
    RETURN NULL;
  END IF;
  l := "public"."holdfast_spill_v3"(l);
  v_due := l.lapses_from <= v_now;
  l := "public"."holdfast_tidy_v3"(l, v_now, false);
  IF l.places > 0 THEN
    SELECT token, ttl, broken INTO p FROM "public"."holdfast_place" WHERE id = p_id AND line = p_line;
    IF FOUND THEN
      PERFORM "public"."holdfast_save_v3"(l);
      IF p.broken THEN RETURN NULL; END IF;
      UPDATE "public"."holdfast_place" SET lapse = v_now + ttl WHERE line = p_line AND token = p.token;
      RETURN "public"."holdfast_stand_v3"(p_line, p.token, v_now);
    END IF;
  END IF;
  IF l.dead_until > v_now AND EXISTS (SELECT FROM "public"."holdfast_dead" WHERE line = p_line AND id = p_id AND until > v_now) THEN
    PERFORM "public"."holdfast_save_v3"(l);
    RETURN NULL;
  END IF;
  IF l.places > 0 AND l.capacity <> p_capacity THEN
    PERFORM "public"."holdfast_save_v3"(l);
    RETURN 'capacity ' || l.capacity;
  END IF;
  IF NOT p_wait AND l.weight + p_weight > p_capacity THEN
    PERFORM "public"."holdfast_save_v3"(l);
    RETURN NULL;
  END IF;
  l.last := greatest(l.last + 1, v_now);
  l.capacity := p_capacity;
  IF l.places = 0 THEN
    l.weight := 0;
    l.solo_id := p_id;
    l.solo_weight := p_weight;
    l.solo_ttl := p_ttl;
    l.solo_lapse := v_now + p_ttl;
    l.solo_at := v_now;
    l.solo_data := p_data;
    l.solo_inbox := p_inbox;
    PERFORM "public"."holdfast_save_v3"(l);
    PERFORM "public"."holdfast_tell_v3"(l, v_now);
    RETURN l.last || ',0,-1,0';
  END IF;
  INSERT INTO "public"."holdfast_place" (line, token, id, weight, ttl, lapse, at, data, inbox, granted)
  VALUES (p_line, l.last, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data, p_inbox, l.weight + p_weight <= p_capacity);
  IF NOT v_due AND l.weight + p_weight > p_capacity THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  v_token := l.weight;
  l.places := l.places + 1;
  l.weight := l.weight + p_weight;
  PERFORM "public"."holdfast_tell_v3"(l, v_now);
  p_ttl := least(l.lapses_from, v_now + p_ttl);
  v_now := l.lapses_from - v_now;
  l.lapses_from := p_ttl;
  PERFORM "public"."holdfast_save_v3"(l);
  RETURN l.last || ',' || v_token || ',' || v_now || ',0';
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_leave_v3"(p_line bytea, p_id uuid, p_ttl bigint, p_after bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_weight bigint;
  v_removed boolean := false;
BEGIN
  IF p_after = 0 THEN
    UPDATE "public"."holdfast_line" SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    WHERE name = p_line AND solo_id = p_id AND watched_until <= v_now;
    IF FOUND THEN RETURN NULL; END IF;
  END IF;
  LOOP
    l := "public"."holdfast_lock_v3"(p_line);
    EXIT WHEN l.name IS NOT NULL;
    INSERT INTO "public"."holdfast_line" (name, capacity, last) SELECT p_line, 1, m.floor FROM "public"."holdfast_meta" m ON CONFLICT DO NOTHING;
  END LOOP;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := "public"."holdfast_spill_v3"(l);
  IF p_after = 0 THEN
    DELETE FROM "public"."holdfast_place" WHERE id = p_id AND line = p_line RETURNING weight INTO v_weight;
    IF FOUND THEN
      v_removed := true;
      l.places := l.places - 1;
      l.weight := l.weight - v_weight;
    END IF;
  ELSE
    UPDATE "public"."holdfast_place" SET broken = true, lapse = v_now + p_after WHERE id = p_id AND line = p_line;
    IF FOUND THEN
      v_removed := true;
      l.lapses_from := least(l.lapses_from, v_now + p_after);
    END IF;
  END IF;
  IF NOT v_removed THEN
    DELETE FROM "public"."holdfast_dead" WHERE line = p_line AND until <= v_now;
    INSERT INTO "public"."holdfast_dead" (line, id, until) VALUES (p_line, p_id, v_now + p_ttl)
    ON CONFLICT (line, id) DO UPDATE SET until = excluded.until;
    l.dead_until := greatest(l.dead_until, v_now + p_ttl);
  END IF;
  l := "public"."holdfast_tidy_v3"(l, v_now, v_removed);
  PERFORM "public"."holdfast_save_v3"(l);
  PERFORM "public"."holdfast_tell_v3"(l, v_now);
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_touch_v3"(p_lines text, p_ids text) RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  r record;
  v_ids uuid[] := string_to_array(p_ids, ',')::uuid[];
  v_lines bytea[];
  v_out text[];
  v_left integer := cardinality(v_ids);
  v_granted bigint[];
  v_now bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  SELECT array_agg(decode(u.hex, 'hex') ORDER BY u.i) INTO v_lines
  FROM unnest(string_to_array(p_lines, ',')) WITH ORDINALITY u(hex, i);
  v_out := array_fill(NULL::text, ARRAY[v_left]);
  PERFORM 1 FROM "public"."holdfast_line" WHERE name = ANY (v_lines) ORDER BY name FOR UPDATE;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  FOR r IN
    UPDATE "public"."holdfast_line" t SET solo_lapse = v_now + t.solo_ttl
    FROM unnest(v_lines, v_ids) WITH ORDINALITY u(line, id, i)
    WHERE t.name = u.line AND t.solo_id = u.id AND t.solo_lapse > v_now
    RETURNING u.i, t.last
  LOOP
    v_out[r.i] := r.last || ',0,-1,0';
    v_left := v_left - 1;
  END LOOP;
  IF v_left = 0 THEN RETURN v_out; END IF;
  FOR l IN SELECT * FROM "public"."holdfast_line" WHERE name = ANY (v_lines) AND places > 0 LOOP
    IF l.lapses_from <= v_now THEN
      l := "public"."holdfast_tidy_v3"(l, v_now, false);
      PERFORM "public"."holdfast_save_v3"(l);
      PERFORM "public"."holdfast_tell_v3"(l, v_now);
    END IF;
    UPDATE "public"."holdfast_place" SET lapse = v_now + ttl WHERE line = l.name AND id = ANY (v_ids) AND NOT broken;
    v_granted := '{}';
    FOR r IN
      SELECT u.i, s.* FROM (
        SELECT id, token, weight, granted, broken,
          sum(weight) OVER w - weight AS ahead,
          min(lapse) OVER (ORDER BY token ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS lapses,
          CASE WHEN lead(token) OVER w IS NULL THEN 0 ELSE 1 END AS wanted
        FROM "public"."holdfast_place" WHERE line = l.name WINDOW w AS (ORDER BY token)
      ) s JOIN unnest(v_ids) WITH ORDINALITY u(id, i) ON u.id = s.id WHERE NOT s.broken
    LOOP
      v_out[r.i] := r.token || ',' || r.ahead || ',' || coalesce(r.lapses - v_now, -1) || ',' || r.wanted;
      IF NOT r.granted AND r.ahead + r.weight <= l.capacity THEN v_granted := v_granted || r.token; END IF;
    END LOOP;
    IF cardinality(v_granted) > 0 THEN
      UPDATE "public"."holdfast_place" SET granted = true WHERE line = l.name AND token = ANY (v_granted);
    END IF;
  END LOOP;
  RETURN v_out;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_enter_all_v3"(p_batch text, p_inbox text) RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
  v_answer text;
  v_out text[] := array_fill(NULL::text, ARRAY[json_array_length(p_batch::json)]);
BEGIN
  FOR r IN
    SELECT decode(e ->> 0, 'hex') AS line, (e ->> 1)::uuid AS id, (e ->> 2)::bigint AS weight, (e ->> 3)::bigint AS capacity,
      (e ->> 4)::bigint AS ttl, e ->> 5 AS data, i
    FROM json_array_elements(p_batch::json) WITH ORDINALITY u(e, i)
    ORDER BY 1, i
  LOOP
    v_answer := "public"."holdfast_enter_v3"(r.line, r.id, r.weight, r.capacity, r.ttl, r.data, p_inbox, false);
    IF v_answer LIKE 'capacity %' THEN
      v_out := ARRAY[v_answer, r.i::text];
      RAISE EXCEPTION 'another capacity' USING ERRCODE = 'HF002';
    END IF;
    IF v_answer IS NULL OR split_part(v_answer, ',', 2)::bigint + r.weight > r.capacity THEN
      v_out := NULL;
      RAISE EXCEPTION 'no room' USING ERRCODE = 'HF002';
    END IF;
    v_out[r.i] := v_answer;
  END LOOP;
  RETURN v_out;
EXCEPTION WHEN SQLSTATE 'HF002' THEN
  RETURN v_out;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_rename_v3"(p_line bytea, p_id uuid, p_new uuid, p_ttl bigint, p_data text, p_inbox text)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  p record;
  v_now bigint;
  v_answer text;
BEGIN
  l := "public"."holdfast_lock_v3"(p_line);
  IF l.name IS NULL THEN RETURN NULL; END IF;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := "public"."holdfast_spill_v3"(l);
  l := "public"."holdfast_tidy_v3"(l, v_now, false);
  SELECT token, id INTO p FROM "public"."holdfast_place" WHERE line = p_line AND id IN (p_id, p_new) AND NOT broken;
  IF FOUND THEN
    UPDATE "public"."holdfast_place" SET id = p_new, ttl = p_ttl, lapse = v_now + p_ttl, data = p_data, inbox = p_inbox
    WHERE line = p_line AND token = p.token;
    l.lapses_from := least(l.lapses_from, v_now + p_ttl);
    IF p.id <> p_new THEN
      INSERT INTO "public"."holdfast_dead" (line, id, until) VALUES (p_line, p_id, v_now + p_ttl)
      ON CONFLICT (line, id) DO UPDATE SET until = excluded.until;
      l.dead_until := greatest(l.dead_until, v_now + p_ttl);
    END IF;
    v_answer := "public"."holdfast_stand_v3"(p_line, p.token, v_now);
  END IF;
  PERFORM "public"."holdfast_save_v3"(l);
  PERFORM "public"."holdfast_tell_v3"(l, v_now);
  RETURN v_answer;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_break_v3"(p_line bytea, p_at_once boolean) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  p record;
  v_now bigint;
  v_used bigint := 0;
  v_gone bigint := 0;
  v_count integer := 0;
BEGIN
  l := "public"."holdfast_lock_v3"(p_line);
  IF l.name IS NULL THEN RETURN 0; END IF;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := "public"."holdfast_spill_v3"(l);
  l := "public"."holdfast_tidy_v3"(l, v_now, false);
  FOR p IN SELECT token, id, weight, inbox FROM "public"."holdfast_place" WHERE line = p_line ORDER BY token LOOP
    v_used := v_used + p.weight;
    EXIT WHEN v_used > l.capacity;
    v_count := v_count + 1;
    v_gone := v_gone + p.weight;
    IF p_at_once THEN DELETE FROM "public"."holdfast_place" WHERE line = p_line AND token = p.token;
    ELSE UPDATE "public"."holdfast_place" SET broken = true WHERE line = p_line AND token = p.token;
    END IF;
    IF p.inbox IS NOT NULL THEN PERFORM pg_notify(p.inbox, replace(p.id::text, '-', '')); END IF;
  END LOOP;
  IF p_at_once AND v_count > 0 THEN
    l.places := l.places - v_count;
    l.weight := l.weight - v_gone;
    l := "public"."holdfast_tidy_v3"(l, v_now, true);
  END IF;
  PERFORM "public"."holdfast_save_v3"(l);
  PERFORM "public"."holdfast_tell_v3"(l, v_now);
  RETURN v_count;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_swap_v3"(p_key bytea, p_write boolean, p_version bigint, p_next text, p_ttl bigint, p_nonce text)
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c "public"."holdfast_cell";
  v_now bigint;
  v_version bigint;
  v_lapse bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  LOOP
    IF p_write THEN SELECT * INTO c FROM "public"."holdfast_cell" WHERE key = p_key FOR UPDATE;
    ELSE SELECT * INTO c FROM "public"."holdfast_cell" WHERE key = p_key;
    END IF;
    v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    v_version := CASE WHEN c.key IS NULL OR c.value IS NULL OR c.lapse <= v_now THEN 0 ELSE c.version END;
    IF c.lapse <= v_now THEN c.nonce := NULL; END IF;
    IF NOT p_write OR c.nonce = p_nonce OR v_version <> p_version THEN
      RETURN ARRAY[v_version::text, CASE WHEN v_version = 0 THEN NULL ELSE c.value END, c.nonce];
    END IF;
    v_lapse := CASE WHEN p_next IS NULL THEN v_now + 600000000 WHEN p_ttl = 0 THEN NULL ELSE v_now + p_ttl END;
    IF c.key IS NULL THEN
      INSERT INTO "public"."holdfast_cell" (key, version, value, nonce, lapse)
      SELECT p_key, greatest(m.floor + 1, v_now), p_next, p_nonce, v_lapse FROM "public"."holdfast_meta" m
      ON CONFLICT DO NOTHING RETURNING version INTO v_version;
      EXIT WHEN FOUND;
    ELSE
      UPDATE "public"."holdfast_cell" SET version = greatest(version + 1, v_now), value = p_next, nonce = p_nonce, lapse = v_lapse
      WHERE key = p_key RETURNING version INTO v_version;
      EXIT;
    END IF;
  END LOOP;
  RETURN ARRAY[CASE WHEN p_next IS NULL THEN '0' ELSE v_version::text END, p_next, p_nonce];
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_take_v3"(
  p_key bytea, p_cost bigint, p_burst bigint, p_unit bigint, p_drain bigint, p_shut_after bigint, p_shut bigint
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  b "public"."holdfast_bucket";
  v_now bigint;
  v_gone bigint;
  v_need bigint := p_cost * p_unit;
  v_room bigint;
  v_retry bigint := 0;
  v_taken integer := 0;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  LOOP
    SELECT * INTO b FROM "public"."holdfast_bucket" WHERE key = p_key FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO "public"."holdfast_bucket" VALUES (p_key, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_gone := greatest(0, v_now - b.at);
  b.level := CASE WHEN v_gone >= b.level / p_drain + 1 THEN 0 ELSE greatest(0, b.level - v_gone * p_drain) END;
  IF b.level = 0 AND b.shut_until <= v_now THEN b.refused := 0; END IF;
  v_room := p_burst * p_unit - b.level;
  IF b.shut_until > v_now THEN
    v_retry := b.shut_until - v_now;
  ELSIF v_need <= v_room THEN
    v_taken := 1;
    b.level := b.level + v_need;
  ELSE
    b.refused := b.refused + p_cost;
    v_retry := (v_need - v_room + p_drain - 1) / p_drain;
    IF p_shut_after > 0 AND b.refused > p_shut_after THEN
      b.shut_until := v_now + p_shut;
      b.refused := 0;
      v_retry := p_shut;
    END IF;
  END IF;
  IF b.shut_until <= v_now THEN b.shut_until := 0; END IF;
  UPDATE "public"."holdfast_bucket" SET level = b.level, at = v_now, refused = b.refused, shut_until = b.shut_until,
    lapse = greatest(v_now + (b.level + p_drain - 1) / p_drain, b.shut_until)
  WHERE key = p_key;
  RETURN v_taken || ',' || b.level || ',' || v_retry || ',' || CASE WHEN b.shut_until > 0 THEN 1 ELSE 0 END;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_sweep_v3"(p_idle bigint, p_max integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l "public"."holdfast_line";
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_floor bigint := 0;
  v_count integer := 0;
  v_cells integer;
  v_buckets integer;
  v_top bigint;
BEGIN
  PERFORM 1 FROM "public"."holdfast_meta" FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR l IN
    SELECT * FROM "public"."holdfast_line" WHERE last < v_now - p_idle AND dead_until <= v_now AND watched_until <= v_now
      AND (solo_id IS NULL OR solo_lapse <= v_now - p_idle) AND (places = 0 OR lapses_from <= v_now - p_idle)
    LIMIT p_max FOR UPDATE SKIP LOCKED
  LOOP
    l := "public"."holdfast_spill_v3"(l);
    l := "public"."holdfast_tidy_v3"(l, v_now, false);
    IF l.places > 0 THEN
      PERFORM "public"."holdfast_save_v3"(l);
      CONTINUE;
    END IF;
    DELETE FROM "public"."holdfast_dead" WHERE line = l.name;
    DELETE FROM "public"."holdfast_line" WHERE name = l.name;
    v_floor := greatest(v_floor, l.last);
    v_count := v_count + 1;
  END LOOP;
  WITH gone AS (
    DELETE FROM "public"."holdfast_cell" WHERE key IN (
      SELECT key FROM "public"."holdfast_cell" WHERE lapse <= v_now - p_idle LIMIT p_max FOR UPDATE SKIP LOCKED
    ) RETURNING version
  ) SELECT count(*), max(version) INTO v_cells, v_top FROM gone;
  DELETE FROM "public"."holdfast_bucket" WHERE key IN (
    SELECT key FROM "public"."holdfast_bucket" WHERE lapse <= v_now - p_idle LIMIT p_max FOR UPDATE SKIP LOCKED
  );
  GET DIAGNOSTICS v_buckets = ROW_COUNT;
  UPDATE "public"."holdfast_meta" SET floor = greatest(floor, v_floor, v_top) WHERE v_count + v_cells > 0;
  RETURN v_count + v_cells + v_buckets;
END $$;
CREATE OR REPLACE FUNCTION "public"."holdfast_observe_v3"(p_lines text, p_span bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
  INSERT INTO "public"."holdfast_line" (name, capacity, last, watched_until)
  SELECT decode(u.hex, 'hex'), 1, m.floor, "public"."holdfast_now_v3"() + p_span
  FROM unnest(string_to_array(p_lines, ',')) u(hex), "public"."holdfast_meta" m ORDER BY 1
  ON CONFLICT (name) DO UPDATE SET watched_until = greatest("holdfast_line".watched_until, excluded.watched_until)
$$;
CREATE OR REPLACE FUNCTION "public"."holdfast_poll_v3"(p_lines text, p_ids text) RETURNS SETOF text LANGUAGE sql VOLATILE AS $$
  WITH u AS (
    SELECT decode(h.hex, 'hex') AS line, i.id::uuid AS id
    FROM unnest(string_to_array(p_lines, ','), string_to_array(p_ids, ',')) AS h(hex, id), LATERAL (SELECT h.id) i(id)
  ), s AS (
    SELECT p.id, p.broken, sum(p.weight) OVER (PARTITION BY p.line ORDER BY p.token) AS upto, l.capacity
    FROM "public"."holdfast_place" p JOIN "public"."holdfast_line" l ON l.name = p.line
    WHERE p.line IN (SELECT line FROM u) AND p.lapse > "public"."holdfast_now_v3"()
  )
  SELECT replace(u.id::text, '-', '') FROM u LEFT JOIN s ON s.id = u.id
  WHERE s.id IS NULL OR s.broken OR s.upto <= s.capacity
$$;
CREATE OR REPLACE FUNCTION "public"."holdfast_list_v3"(p_prefix bytea)
RETURNS TABLE (name text, capacity bigint, token bigint, weight bigint, age bigint, rest bigint, data text)
LANGUAGE sql VOLATILE AS $$
  WITH t AS MATERIALIZED (SELECT "public"."holdfast_now_v3"() AS now),
  l AS (SELECT * FROM "public"."holdfast_line" k WHERE k.name >= p_prefix AND substring(k.name FROM 1 FOR length(p_prefix)) = p_prefix)
  SELECT encode(s.line, 'hex'), s.capacity, s.token, s.weight, t.now - s.at, s.lapse - t.now, s.data FROM t, (
    SELECT l.name AS line, l.capacity, l.last AS token, l.solo_weight AS weight, l.solo_at AS at, l.solo_lapse AS lapse,
      l.solo_data AS data FROM l WHERE l.solo_id IS NOT NULL
    UNION ALL
    SELECT l.name, l.capacity, p.token, p.weight, p.at, p.lapse, p.data FROM l JOIN "public"."holdfast_place" p ON p.line = l.name
  ) s WHERE s.lapse > t.now ORDER BY s.line, s.token
$$;
INSERT INTO "public"."holdfast_meta" (version, floor) VALUES (3, 0);
