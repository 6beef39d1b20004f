-- take_v6(key, cost, burst, unit, drain, shut_after, shut) -> `taken,level,retry,shut`: contract/bucket.ts, whole numbers throughout.
--   shut in microseconds; retry, too.
CREATE PROCEDURE @take_v6(
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
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  find: LOOP
    SELECT level, at, refused, shut_until INTO v_level, v_at, v_refused, v_shut_until FROM @bucket WHERE name = p_key FOR UPDATE;
    IF v_level IS NOT NULL THEN LEAVE find; END IF;
    INSERT IGNORE INTO @bucket VALUES (p_key, 0, 0, 0, 0, 0);
  END LOOP;
  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  -- Not more is multiplied than has to drain: the product of a long time and a fast drain would be too large.
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
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT CONCAT(v_taken, ',', v_level, ',', v_retry, ',', v_shut_until > 0) AS answer;
END
;;
