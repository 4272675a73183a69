//! The schema of a measurement. Its name contains a unique number, and an advisory lock on that number is held while
//! the measurement runs. A schema whose lock is free was left by a killed measurement.

use std::time::{SystemTime, UNIX_EPOCH};

use inrush_pgclient::{ClientError, ServerConnection};

/// The comment on a schema of a measurement.
const COMMENT: &str = "made by inrush bench, and removed by it";

/// The first half of the lock's key; the second half is the number.
const LOCK_CLASS: i32 = 0x696e_7275;

/// The longest wait for a session of a killed measurement that still holds its table.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// Schemas left by killed measurements, if this role may act as their owners.
const LEFT: &str = "\
    SELECT n.nspname::pg_catalog.text, substr(n.nspname, 14)::pg_catalog.int4 \
    FROM pg_catalog.pg_namespace AS n \
    WHERE n.nspname ~ '^inrush_bench_[0-9]{1,9}$' \
      AND pg_catalog.obj_description(n.oid, 'pg_namespace') = $1 \
      AND pg_catalog.pg_has_role(n.nspowner, 'USAGE') \
    ORDER BY 1";

/// An existing schema.
pub struct OwnSchema {
    /// Its name, which needs no quotes.
    pub name: String,
    /// The number in it.
    pub number: i32,
    /// The schemas of killed measurements that were removed, in words.
    pub removed: Vec<String>,
}

impl OwnSchema {
    /// Removes what killed measurements have left, and creates a schema. This connection holds the lock.
    pub async fn make(connection: &ServerConnection) -> Result<OwnSchema, ClientError> {
        let removed = remove_left(connection).await?;
        let doing = "making a schema for the measurement";
        let number = number();
        let name = format!("inrush_bench_{number}");
        lock(connection, number, doing).await?;
        connection
            .execute(
                &format!(
                    "BEGIN; CREATE SCHEMA {name}; COMMENT ON SCHEMA {name} IS '{COMMENT}'; COMMIT"
                ),
                doing,
            )
            .await?;
        Ok(OwnSchema {
            name,
            number,
            removed,
        })
    }

    /// Removes a schema with everything that a measurement has created in it. If it contains other objects, these and
    /// the schema stay.
    pub async fn remove(connection: &ServerConnection, name: &str) -> Result<(), ClientError> {
        let doing = "removing the tables of the measurement";
        // A transaction that failed may still be open.
        connection.execute("ROLLBACK", doing).await?;
        let own = format!(
            "{PATIENCE}; \
             DROP TABLE IF EXISTS {name}.rows, {name}.seek; \
             DROP FUNCTION IF EXISTS {name}.noop(), {name}.seek()"
        );
        connection.execute(&own, doing).await?;
        let schema = format!("DROP SCHEMA IF EXISTS {name}");
        connection.execute(&schema, doing).await
    }
}

async fn remove_left(connection: &ServerConnection) -> Result<Vec<String>, ClientError> {
    let doing = "looking for what killed measurements have left";
    let mut removed = Vec::new();
    for row in connection.query(LEFT, &[&COMMENT], doing).await? {
        let (name, number): (String, i32) = (row.get(0), row.get(1));
        if !lock(connection, number, doing).await? {
            continue;
        }
        let words = match OwnSchema::remove(connection, &name).await {
            Ok(()) => format!("schema {name} of a measurement that was killed is removed"),
            Err(error) if error.code().is_some() => {
                format!("schema {name} of a measurement that was killed stays: {error}")
            }
            Err(error) => return Err(error),
        };
        removed.push(words);
        let unlock = "SELECT pg_catalog.pg_advisory_unlock($1, $2)";
        connection
            .query(unlock, &[&LOCK_CLASS, &number], doing)
            .await?;
    }
    Ok(removed)
}

/// Takes the lock on a number for the life of the connection; returns false if another session has it.
async fn lock(
    connection: &ServerConnection,
    number: i32,
    doing: &str,
) -> Result<bool, ClientError> {
    let sql = "SELECT pg_catalog.pg_try_advisory_lock($1, $2)";
    let rows = connection
        .query(sql, &[&LOCK_CLASS, &number], doing)
        .await?;
    Ok(rows[0].get(0))
}

/// A number of nine digits from the clock and the process ID, so that no two measurements have the same.
fn number() -> i32 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mixed =
        now.as_nanos() as u64 ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    100_000_000 + i32::try_from(mixed % 900_000_000).unwrap_or(0)
}
