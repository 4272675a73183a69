"""Triggers on staging tables: an event trigger in the database adds one to each new table."""

from __future__ import annotations

from harness.servers import Database

_WATCH = """
CREATE FUNCTION public.staged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$;
CREATE FUNCTION public.watch() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made record;
BEGIN
    FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        IF made.schema_name = 'inrush_staging' AND made.object_type = 'table' THEN
            EXECUTE format('CREATE TRIGGER staged %s ON %%s EXECUTE FUNCTION public.staged()',
                           made.object_identity);
        END IF;
    END LOOP;
END $$;
CREATE EVENT TRIGGER watch ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
    EXECUTE FUNCTION public.watch();
"""

# A row whose `id` is a multiple of ten is not inserted, and COPY does not count it.
DROPS_ROWS = "RETURN CASE WHEN new.id % 10 = 0 THEN NULL ELSE new END;"
KEEPS_ROWS = "RETURN new;"
# Rows are removed after the COPY has counted them.
REMOVES_ROWS = (
    "EXECUTE format('DELETE FROM %s WHERE id %% 10 = 0', tg_relid::regclass); RETURN NULL;"
)


def for_each_row(database: Database, body: str) -> None:
    """Give each new staging table a trigger that runs before each row, from now on."""
    _give(database, "BEFORE INSERT", body, " FOR EACH ROW")


def after_statement(database: Database, body: str) -> None:
    """Give each new staging table a trigger that runs after each COPY, from now on."""
    _give(database, "AFTER INSERT", body, "")


def _give(database: Database, event: str, body: str, each: str) -> None:
    head = _WATCH.split("ON %%s")[0] % (body, event)
    tail = _WATCH.split("ON %%s")[1].replace("%%", "%")
    database.execute(f"{head}ON %s{each}{tail}")
