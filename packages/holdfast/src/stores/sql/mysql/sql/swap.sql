-- swap_v6(key, write, version, next, ttl, nonce) -> version, value, nonce; version 0 is absent.
--   write 0 only reads. next NULL removes. ttl 0 lives for ever.
--   Values travel as bytes of UTF-8: text would be converted to the charset of the connection, and lose what that has not.
CREATE PROCEDURE @swap_v6(
  p_key VARBINARY(512), p_write TINYINT, p_version BIGINT, p_next MEDIUMBLOB, p_ttl BIGINT, p_nonce VARBINARY(64)
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
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

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
      ROLLBACK AND NO CHAIN NO RELEASE;
      SELECT CAST(v_version AS CHAR) AS version, CONVERT(v_value USING binary) AS value, CONVERT(v_nonce USING ascii) AS nonce;
      LEAVE swap;
    END IF;
    -- A removed cell is remembered for ten minutes, so that a repeated removal can be told that it had succeeded.
    SET v_lapse = IF(p_next IS NULL, v_now + 600000000, IF(p_ttl = 0, NULL, v_now + p_ttl));
    IF v_name IS NULL THEN
      INSERT IGNORE INTO @cell (name, version, value, nonce, lapse)
      SELECT p_key, GREATEST(m.floor + 1, v_now), CONVERT(p_next USING utf8mb4), p_nonce, v_lapse FROM @meta m;
      IF ROW_COUNT() = 1 THEN LEAVE try; END IF;
    ELSE
      UPDATE @cell SET version = GREATEST(version + 1, v_now), value = CONVERT(p_next USING utf8mb4), nonce = p_nonce, lapse = v_lapse WHERE name = p_key;
      LEAVE try;
    END IF;
  END LOOP;
  SELECT version INTO v_version FROM @cell WHERE name = p_key;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT CAST(IF(p_next IS NULL, 0, v_version) AS CHAR) AS version, p_next AS value, CONVERT(p_nonce USING ascii) AS nonce;
END
;;
