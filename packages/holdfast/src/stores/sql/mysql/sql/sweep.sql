-- sweep_v6(idle, max) -> how many rows went. Removes lines that nobody has entered for `idle`, and cells and rate limits that have lapsed;
--   the floor keeps every later token above theirs. Rows that somebody works with are left alone.
CREATE PROCEDURE @sweep_v6(p_idle BIGINT, p_max INT)
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
  -- A second sweeper has waited long enough.
  DECLARE EXIT HANDLER FOR 1205 BEGIN ROLLBACK AND NO CHAIN NO RELEASE; SELECT 0 AS swept; END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- The floor's row is the lock that keeps a second sweeper away. On MariaDB those who enter several lines hold it, too, for as long as
  -- their statement takes (batch.ts): they are waited for, and whoever comes meanwhile takes the long way.
  /*M!100301 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */
  SELECT floor INTO v_floor FROM @meta WHERE one = 1 FOR UPDATE /*!80001 SKIP LOCKED */;
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
      CALL @spill_v6(v_line);
      CALL @tidy_v6(v_line, v_now);
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
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_count AS swept;
END
;;
