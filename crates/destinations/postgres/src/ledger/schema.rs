//! The ledger's tables: the statements that create them, and the check of those that exist.
//!
//! Version 5 has the columns `rows_filtered` and `rows_added`. A ledger of version 4 can be read unchanged. The start
//! of a run alters it and raises its version in one transaction; after that, programs that know only version 4 refuse
//! it.

use super::error::LedgerError;
use super::lineage::lineage_statement;
use crate::Session;
use crate::quote::{identifier, literal, qualified};

/// The version of the tables. Each change of the tables raises it.
pub(super) const VERSION: i32 = 5;
/// The oldest version that is read and altered to [`VERSION`].
pub(super) const OLDEST_VERSION: i32 = 4;

/// The CHECK of a split's account.
const ACCOUNT: &str = "CONSTRAINT shard_account CHECK (rows_read + rows_added = \
                       rows_loaded + rows_rejected + rows_skipped + rows_filtered)";

/// The state in which the tables of a ledger are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTables {
    /// All of them exist.
    pub are_complete: bool,
    /// They have the form of an older version.
    pub are_older: bool,
    /// The table of the runs' lineage, which is not a part of the ledger's version: ledgers of earlier programs lack
    /// it.
    pub lineage: FoundLineage,
}

/// The state in which the table of the runs' lineage is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundLineage {
    /// The role may write into it.
    Writable,
    /// It does not exist, and the role may create it.
    Missing,
    /// The role may neither write into it nor create it.
    Closed,
}

/// The statements that alter the tables of a ledger of version 4. They wait at most `lock_timeout_ms` for a load that
/// holds a table.
pub fn alter_statements(ledger_schema: &str, lock_timeout_ms: u32) -> Vec<String> {
    vec![
        format!("SET LOCAL lock_timeout = {lock_timeout_ms}"),
        // PostgreSQL itself chose the name of the CHECK in version 4. Another run may have altered the table before.
        format!(
            "ALTER TABLE {} \
             ADD COLUMN IF NOT EXISTS rows_filtered int8 NOT NULL DEFAULT 0, \
             ADD COLUMN IF NOT EXISTS rows_added int8 NOT NULL DEFAULT 0, \
             DROP CONSTRAINT IF EXISTS shard_check, \
             DROP CONSTRAINT IF EXISTS shard_account, \
             ADD {ACCOUNT}",
            qualified(ledger_schema, "shard")
        ),
        comment_statement(ledger_schema),
    ]
}

/// The statements that create the ledger's schema and tables, and the staging schema, if they are missing.
pub fn setup_statements(ledger_schema: &str, staging_schema: &str) -> Vec<String> {
    let table = |name: &str| qualified(ledger_schema, name);
    vec![
        format!("CREATE SCHEMA IF NOT EXISTS {}", identifier(ledger_schema)),
        format!("CREATE SCHEMA IF NOT EXISTS {}", identifier(staging_schema)),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             run_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
             run_key text NOT NULL, \
             name text NOT NULL UNIQUE, \
             package text NOT NULL, \
             package_hash text NOT NULL, \
             targets text[] NOT NULL, \
             target_oids oid[], \
             epoch int4 NOT NULL DEFAULT 1, \
             state text NOT NULL CHECK (state IN ('loading', 'switched', 'discarded', 'undone')), \
             holder text NOT NULL, \
             started_at timestamptz NOT NULL DEFAULT now(), \
             held_since timestamptz NOT NULL DEFAULT now(), \
             switched_at timestamptz)",
            table("run")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             run_id bigint NOT NULL REFERENCES {} ON DELETE CASCADE, \
             unit_key text NOT NULL, \
             flow text NOT NULL, \
             target text NOT NULL, \
             staging_schema text NOT NULL, \
             staging_table text NOT NULL, \
             shared bool NOT NULL, \
             straight bool NOT NULL, \
             finished bool NOT NULL, \
             careful bool NOT NULL DEFAULT false, \
             epoch int4 NOT NULL, \
             rows_counted int8, \
             key_smallest text, \
             key_largest text, \
             table_oid oid, \
             filenodes text, \
             committed_at timestamptz NOT NULL DEFAULT now(), \
             PRIMARY KEY (run_id, unit_key))",
            table("unit"),
            table("run")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             run_id bigint NOT NULL, \
             unit_key text NOT NULL, \
             shard_key text NOT NULL, \
             file_key text NOT NULL, \
             file text NOT NULL, \
             byte_start int8 NOT NULL, \
             byte_end int8, \
             file_bytes int8 NOT NULL, \
             file_modified_ns int8 NOT NULL, \
             file_state text NOT NULL, \
             epoch int4 NOT NULL, \
             rows_read int8 NOT NULL, \
             rows_loaded int8 NOT NULL, \
             rows_rejected int8 NOT NULL, \
             rows_skipped int8 NOT NULL, \
             rows_filtered int8 NOT NULL DEFAULT 0, \
             rows_added int8 NOT NULL DEFAULT 0, \
             bytes_read int8 NOT NULL, \
             content_hash text, \
             text_start int8, \
             text_end int8, \
             tally text[], \
             trailer text, \
             refused int8[], \
             committed_at timestamptz NOT NULL DEFAULT now(), \
             PRIMARY KEY (run_id, unit_key, shard_key), \
             FOREIGN KEY (run_id, unit_key) REFERENCES {} ON DELETE CASCADE, \
             {ACCOUNT})",
            table("shard"),
            table("unit")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             run_id bigint NOT NULL REFERENCES {} ON DELETE CASCADE, \
             number int4 NOT NULL, \
             target text NOT NULL, \
             what text NOT NULL CHECK (what IN ('attached', 'made', 'inserted', 'kept', \
                                                'dropped')), \
             unit_key text, \
             table_oid oid NOT NULL, \
             table_schema text NOT NULL, \
             table_name text NOT NULL, \
             bound text, \
             condition text, \
             original_schema text, \
             original_name text, \
             original_indexes text[], \
             PRIMARY KEY (run_id, number))",
            table("switched_table"),
            table("run")
        ),
        lineage_statement(ledger_schema),
        comment_statement(ledger_schema),
    ]
}

fn comment_statement(ledger_schema: &str) -> String {
    let comment = format!("The ledger of Inrush, version {VERSION}: what each run has loaded");
    format!(
        "COMMENT ON SCHEMA {} IS {}",
        identifier(ledger_schema),
        literal(&comment)
    )
}

/// True if the ledger exists; an error if its version is unknown to this program.
pub async fn exists(session: &Session, ledger_schema: &str) -> Result<bool, LedgerError> {
    Ok(find(session, ledger_schema).await?.are_complete)
}

/// Examines the ledger's tables; an error if they have a version that this program does not know.
pub async fn find(session: &Session, ledger_schema: &str) -> Result<FoundTables, LedgerError> {
    let rows = session
        .query(
            "SELECT count(*) = 4, \
                    coalesce(bool_or(c.relname = 'shard' AND NOT EXISTS ( \
                        SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'rows_filtered')), false), \
                    (SELECT substring(obj_description(oid, 'pg_namespace') FROM 'version ([0-9]+)')::int4 \
                     FROM pg_namespace WHERE nspname = $1), \
                    (SELECT bool_and(has_table_privilege(l.oid, wanted)) \
                     FROM pg_class l JOIN pg_namespace n ON n.oid = l.relnamespace, \
                          unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) wanted \
                     WHERE n.nspname = $1 AND l.relname = 'lineage' AND l.relkind = 'r'), \
                    coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1), true) \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND c.relname IN ('run', 'unit', 'shard', 'switched_table') \
               AND c.relkind = 'r'",
            &[&ledger_schema],
            "looking for the ledger",
        )
        .await?;
    let version: Option<i32> = rows[0].get(2);
    match version {
        Some(found) if !(OLDEST_VERSION..=VERSION).contains(&found) => Err(LedgerError::Version {
            schema: ledger_schema.to_owned(),
            found,
        }),
        _ => Ok(FoundTables {
            are_complete: rows[0].get(0),
            are_older: rows[0].get(1),
            lineage: match (rows[0].get(3), rows[0].get(4)) {
                (Some(true), _) => FoundLineage::Writable,
                (None, true) => FoundLineage::Missing,
                (Some(false), _) | (None, false) => FoundLineage::Closed,
            },
        }),
    }
}
