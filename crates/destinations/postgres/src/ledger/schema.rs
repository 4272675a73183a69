//! The ledger's tables.

use super::error::LedgerError;
use crate::Session;
use crate::quote::{identifier, literal, qualified};

/// The form of the tables. A change of form raises it.
const VERSION: i32 = 4;

/// The statements that make the ledger's schema and tables, and the staging schema, where they
/// are missing.
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
             CHECK (rows_read = rows_loaded + rows_rejected + rows_skipped))",
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
        format!(
            "COMMENT ON SCHEMA {} IS {}",
            identifier(ledger_schema),
            literal(&comment())
        ),
    ]
}

fn comment() -> String {
    format!("The ledger of Inrush, version {VERSION}: what each run has loaded")
}

/// Whether the ledger is there; an error where it is one of another version.
pub async fn exists(session: &Session, ledger_schema: &str) -> Result<bool, LedgerError> {
    let rows = session
        .query(
            "SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                     WHERE n.nspname = $1 AND c.relname IN ('run', 'unit', 'shard', \
                                                            'switched_table') \
                       AND c.relkind = 'r') = 4, \
             (SELECT substring(obj_description(oid, 'pg_namespace') FROM 'version ([0-9]+)')::int4 \
              FROM pg_namespace WHERE nspname = $1)",
            &[&ledger_schema],
            "looking for the ledger",
        )
        .await?;
    let found: Option<i32> = rows[0].get(1);
    match found {
        Some(found) if found != VERSION => Err(LedgerError::Version {
            schema: ledger_schema.to_owned(),
            found,
            known: VERSION,
        }),
        _ => Ok(rows[0].get(0)),
    }
}
