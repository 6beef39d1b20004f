-- lock_v6(slot): locks it until the caller's transaction ends.
--   HF003: this transaction reads from a snapshot that is older than somebody's hold. At REPEATABLE READ the first plain SELECT takes the snapshot for
--   the whole transaction. A reads, B locks, changes and commits, A locks: and still reads what was there before B. A locking read sees the newest
--   stamp, a plain one that of the snapshot; without a snapshot the plain one takes it now, after the wait.
--   HF004: there is no such row.
CREATE PROCEDURE @lock_v6(p_slot INT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_stamp BIGINT DEFAULT NULL;
  DECLARE v_seen BIGINT DEFAULT NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  SELECT stamp INTO v_stamp FROM @slot WHERE slot = p_slot FOR UPDATE;
  IF v_stamp IS NULL THEN SIGNAL SQLSTATE 'HF004' SET MESSAGE_TEXT = 'holdfast: no such slot'; END IF;
  SELECT stamp INTO v_seen FROM @slot WHERE slot = p_slot;
  IF v_seen IS NULL OR v_seen <> v_stamp THEN SIGNAL SQLSTATE 'HF003' SET MESSAGE_TEXT = 'holdfast: an old snapshot'; END IF;
  UPDATE @slot SET stamp = stamp + 1 WHERE slot = p_slot;
END
;;
