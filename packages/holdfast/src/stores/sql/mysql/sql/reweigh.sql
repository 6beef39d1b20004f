-- reweigh_v6(line, id, weight, turn) -> `token,ahead,recheck,wanted`, the place renewed; NULL: it has lapsed, was broken, or is unknown.
--   Heavier than it was entered: nobody else is granted from now on, and those that are stay so beside it until they go. Else: as it was entered.
--   A turn that is not above the place's own is late, or asked again: it only answers.
CREATE PROCEDURE @reweigh_v6(p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_turn INT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT;
  DECLARE v_capacity BIGINT DEFAULT NULL;
  DECLARE v_token BIGINT DEFAULT NULL;
  DECLARE v_weight BIGINT;
  DECLARE v_first BIGINT;
  DECLARE v_turn INT;
  DECLARE v_raised BIGINT;
  DECLARE v_extra BIGINT;
  DECLARE v_beside BIGINT;
  DECLARE v_answer VARCHAR(100) DEFAULT NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT capacity INTO v_capacity FROM @line WHERE name = p_line FOR UPDATE;
  IF v_capacity IS NOT NULL THEN
    SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    CALL @spill_v6(p_line);
    CALL @tidy_v6(p_line, v_now);
    SELECT raised, raised_extra, raised_beside INTO v_raised, v_extra, v_beside FROM @line WHERE name = p_line FOR UPDATE;
    SELECT token, weight, turn INTO v_token, v_weight, v_turn FROM @place
    WHERE line = p_line AND id = p_id AND NOT broken FOR UPDATE;
  END IF;
  IF v_token IS NOT NULL THEN
    SET v_first = v_weight - IF(v_raised <=> v_token, v_extra, 0);
    IF p_turn > v_turn AND p_weight > v_first THEN
      -- The last of those that are granted now: the weights of the front, as far as they fit.
      SELECT COALESCE(MAX(s.token), v_token) INTO v_beside FROM (
        SELECT token, SUM(weight) OVER (ORDER BY token) - IF(token BETWEEN v_raised AND v_beside, v_extra, 0) AS upto
        FROM @place WHERE line = p_line
      ) s WHERE s.upto <= v_capacity;
      UPDATE @place SET weight = p_weight WHERE line = p_line AND token = v_token;
      UPDATE @line SET weight = weight + p_weight - v_weight, raised = v_token, raised_extra = p_weight - v_first, raised_beside = v_beside
      WHERE name = p_line;
    ELSEIF p_turn > v_turn AND v_raised <=> v_token THEN
      UPDATE @place SET weight = v_first WHERE line = p_line AND token = v_token;
      UPDATE @line SET weight = weight - raised_extra, raised = NULL, raised_extra = 0, raised_beside = 0 WHERE name = p_line;
    END IF;
    UPDATE @place SET lapse = v_now + ttl, turn = GREATEST(turn, p_turn) WHERE line = p_line AND token = v_token;
    UPDATE @line SET changes = changes + 1 WHERE name = p_line;
    SELECT weight INTO v_weight FROM @place WHERE line = p_line AND token = v_token;
    CALL @stand_v6(p_line, v_token, v_weight, v_capacity, v_now, v_answer);
  END IF;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_answer AS answer;
END
;;
