-- touch_v6(batch) -> `i:token,ahead,recheck,wanted;` for each place that is alive, i from 1; the others are gone for good.
--   batch: JSON array of [line, id], both hex. Lines are locked in the order of their names: two processes that renew
--   the same lines can't wait for each other in a circle.
CREATE PROCEDURE @touch_v6(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
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
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

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
      IF v_capacity IS NOT NULL THEN CALL @tidy_v6(v_line, v_now); END IF;
    END IF;
    IF v_capacity IS NULL THEN ITERATE walk; END IF;
    SET v_token = NULL;
    SELECT token, weight INTO v_token, v_weight FROM @place WHERE id = v_id AND line = v_line AND NOT broken FOR UPDATE;
    IF v_token IS NOT NULL THEN
      UPDATE @place SET lapse = v_now + ttl WHERE line = v_line AND token = v_token;
      CALL @stand_v6(v_line, v_token, v_weight, v_capacity, v_now, v_answer);
      SET v_out = CONCAT(v_out, v_i, ':', v_answer, ';');
    END IF;
  END LOOP;
  CLOSE c;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_out AS answers;
END
;;
