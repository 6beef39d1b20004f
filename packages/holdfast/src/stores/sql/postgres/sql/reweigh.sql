-- reweigh_v6(line, id, weight, turn) -> `token,ahead,recheck,wanted`, the place renewed; NULL: it has lapsed, was broken, or is unknown.
--   Heavier than it was entered: nobody else is granted from now on, and those that are stay so beside it until they go. Else: as it was entered.
--   A turn that is not above the place's own is late, or asked again: it only answers.
CREATE OR REPLACE FUNCTION @reweigh_v6(p_line bytea, p_id uuid, p_weight bigint, p_turn integer)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  p record;
  v_now bigint;
  v_first bigint;
  v_answer text;
BEGIN
  l := @lock_v6(p_line);
  IF l.name IS NULL THEN RETURN NULL; END IF;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := @spill_v6(l);
  l := @tidy_v6(l, v_now, false);
  SELECT token, weight, turn INTO p FROM @place WHERE line = p_line AND id = p_id AND NOT broken;
  IF FOUND THEN
    v_first := p.weight - CASE WHEN l.raised = p.token THEN l.raised_extra ELSE 0 END;
    IF p_turn > p.turn AND p_weight > v_first THEN
      -- The last of those that are granted now: the weights of the front, as far as they fit.
      SELECT coalesce(max(s.token), p.token) INTO l.raised_beside FROM (
        SELECT token, sum(weight) OVER (ORDER BY token) AS upto FROM @place WHERE line = p_line
      ) s WHERE s.upto - @spared_v6(l, s.token) <= l.capacity;
      l.raised := p.token;
      l.raised_extra := p_weight - v_first;
      l.weight := l.weight + p_weight - p.weight;
      UPDATE @place SET weight = p_weight, granted = NOT EXISTS (
        SELECT FROM @place o WHERE o.line = p_line AND o.token <= l.raised_beside AND o.token <> p.token
      ) WHERE line = p_line AND token = p.token;
    ELSIF p_turn > p.turn AND l.raised = p.token THEN
      l.weight := l.weight - l.raised_extra;
      l.raised := NULL;
      l.raised_extra := 0;
      l.raised_beside := 0;
      UPDATE @place SET weight = v_first, granted = true WHERE line = p_line AND token = p.token;
      l := @tidy_v6(l, v_now, true);
    END IF;
    UPDATE @place SET lapse = v_now + ttl, turn = greatest(turn, p_turn) WHERE line = p_line AND token = p.token;
    v_answer := @stand_v6(l, p.token, v_now);
  END IF;
  PERFORM @save_v6(l);
  PERFORM @tell_v6(l, v_now);
  RETURN v_answer;
END $$;
