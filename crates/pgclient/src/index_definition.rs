//! The definition of an index without its name and its table, so that the same index can be built on another table.

/// SQL for the text after `CREATE INDEX name ON table ` of an index: the method, the columns and the rest. It needs `i` of
/// `pg_index`, `ic` of `pg_class` for the index, `tc` for its table and `n` of `pg_namespace` for the table's schema, and a
/// search path without that schema.
///
/// `pg_get_indexdef` writes a fixed beginning. It is cut off by its length, so that an unusual name cannot be mistaken for
/// something else.
pub const AFTER_TABLE: &str = "pg_catalog.substr(pg_catalog.pg_get_indexdef(i.indexrelid), 1 + pg_catalog.char_length( \
       CASE WHEN i.indisunique THEN 'CREATE UNIQUE INDEX ' ELSE 'CREATE INDEX ' END \
       || pg_catalog.quote_ident(ic.relname) || ' ON ' \
       || CASE WHEN tc.relkind = 'p' THEN 'ONLY ' ELSE '' END \
       || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(tc.relname) || ' '))";
