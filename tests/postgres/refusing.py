"""Tables that refuse rows, and the codes of the rejects that their rows become."""

from __future__ import annotations

PARTITIONED = """
CREATE TABLE {name} (
    k int NOT NULL,
    id int NOT NULL,
    amount int CHECK (amount <> 0),
    doc jsonb,
    UNIQUE (k, id)
) PARTITION BY RANGE (k)
"""
PLAIN = """
CREATE TABLE {name} (
    id int PRIMARY KEY,
    parent int {parent},
    span int4range,
    note text,
    EXCLUDE USING gist (span WITH &&)
);
CREATE FUNCTION {name}_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'no' THEN RAISE EXCEPTION 'note says no'; END IF;
    IF NEW.note = 'set' THEN NEW.note := 'changed'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION {name}_check();
INSERT INTO {name} VALUES (10, 1, '[5,6)', 'old');
"""


# The codes of the rejects of the refused rows.
PLAIN_CODES = {"duplicate_key", "exclusion_violated", "foreign_key_missing", "raised", "syntax"}
