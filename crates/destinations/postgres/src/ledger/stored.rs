//! SQL for the OID of the table that holds a unit's rows, and for the files of the server that hold that table.
//!
//! A name can be given to another table, so the table of a unit is recognized by its OID. A table can be emptied or
//! rewritten under the same OID, and then has other files. Changes to single rows leave no such trace.

/// The OID of the table that has the name of a unit's table now; NULL if there is none. The query reads the catalog,
/// because `to_regclass` fails if the role may not use the schema.
pub fn table(straight: &str, target: &str, schema: &str, name: &str) -> String {
    let part = |index: u8, otherwise: &str| {
        format!("(CASE WHEN {straight} THEN (parse_ident({target}))[{index}] ELSE {otherwise} END)")
    };
    format!(
        "(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
          WHERE n.nspname = {}::name AND c.relname = {}::name)",
        part(1, schema),
        part(2, name)
    )
}

/// A digest of the file nodes of a staging table and of its partitions; NULL if rows are written directly to a target,
/// which may change its files at any time.
pub fn filenodes(straight: &str, table: &str) -> String {
    format!(
        "CASE WHEN NOT {straight} THEN \
           (SELECT md5(string_agg(part || ':' || coalesce(pg_relation_filenode(part), 0), ',' \
                                  ORDER BY part)) \
            FROM (SELECT {table} AS part \
                  UNION SELECT relid::oid FROM pg_partition_tree({table})) parts) END"
    )
}
