\echo Use "CREATE EXTENSION inrush_fastcopy" to load this file. \quit

-- Loads the library and opens the gate of this session. Granted to nobody by default: a role that
-- may call it may send bytes to the decoder.
CREATE FUNCTION @extschema@.open(OUT abi pg_catalog.int4, OUT version pg_catalog.text, OUT ways pg_catalog.text[])
    AS 'MODULE_PATHNAME', 'inrush_fastcopy_open' LANGUAGE C VOLATILE PARALLEL UNSAFE;

-- Why this table cannot be loaded in this way; NULL if it can. Without columns, all columns of the
-- table.
CREATE FUNCTION @extschema@.refusal(relation pg_catalog.regclass, columns pg_catalog.text[] DEFAULT NULL, way pg_catalog.text DEFAULT 'auto')
    RETURNS pg_catalog.text
    AS 'MODULE_PATHNAME', 'inrush_fastcopy_refusal' LANGUAGE C STABLE PARALLEL UNSAFE;

-- What the last COPY (FORMAT inrush) of this session did; NULL before the first.
CREATE FUNCTION @extschema@.last_load(
    OUT relation pg_catalog.regclass, OUT rows pg_catalog.int8, OUT bytes pg_catalog.int8, OUT way pg_catalog.text,
    OUT key pg_catalog.text, OUT smallest pg_catalog.text, OUT largest pg_catalog.text)
    AS 'MODULE_PATHNAME', 'inrush_fastcopy_last_load' LANGUAGE C VOLATILE PARALLEL UNSAFE;

REVOKE ALL ON FUNCTION @extschema@.open() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.refusal(pg_catalog.regclass, pg_catalog.text[], pg_catalog.text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.last_load() FROM PUBLIC;
