-- break_v6(line, now) -> how many were broken: the places granted now. With `now` they go at once, else they weigh until they lapse.
CREATE PROCEDURE @break_v6(p_line VARBINARY(512), p_at_once TINYINT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT;
  DECLARE v_capacity BIGINT DEFAULT NULL;
  DECLARE v_used BIGINT DEFAULT 0;
  DECLARE v_gone BIGINT DEFAULT 0;
  DECLARE v_count INT DEFAULT 0;
  DECLARE v_token BIGINT;
  DECLARE v_weight BIGINT;
  DECLARE v_raised BIGINT;
  DECLARE v_extra BIGINT;
  DECLARE v_beside BIGINT;
  DECLARE v_over TINYINT DEFAULT 0;
  DECLARE c CURSOR FOR SELECT token, weight FROM @place WHERE line = p_line ORDER BY token;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT capacity INTO v_capacity FROM @line WHERE name = p_line FOR UPDATE;
  IF v_capacity IS NOT NULL THEN
    SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    CALL @spill_v6(p_line);
    CALL @tidy_v6(p_line, v_now);
    SELECT raised, raised_extra, raised_beside INTO v_raised, v_extra, v_beside FROM @line WHERE name = p_line;
    SET v_over = 0;
    OPEN c;
    walk: LOOP
      FETCH c INTO v_token, v_weight;
      IF v_over OR v_used + v_weight - IF(v_token BETWEEN v_raised AND v_beside, v_extra, 0) > v_capacity THEN LEAVE walk; END IF;
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
    CALL @tidy_v6(p_line, v_now);
  END IF;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_count AS broken;
END
;;
