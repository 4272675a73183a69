//! Samples the waits of clients' backends ten times a second, over a separate connection.

use std::time::Duration;

use inrush_destination::clients::{Seen, ServerLook};
use inrush_pgclient::activity::{backend_state, event_name};
use inrush_pgclient::local_backend::is_backend;
use inrush_pgclient::{ClientError, DatabaseAddress, ServerConnection};
use inrush_system::process;
use tokio::runtime::Runtime;
use tokio_postgres::Statement;

use super::checkpoints;

/// The longest wait for the server's answer; after it the sample is left out.
const PATIENCE: Duration = Duration::from_secs(2);

/// After this many failures the server is not asked again.
const FAILURES_MAX: u32 = 3;

/// One call for all sessions, because a call for one session would read all of them, too.
const SESSIONS: &str = "\
    SELECT a.application_name = $1, a.backend_type = 'autovacuum worker', \
           a.state, a.wait_event_type, a.wait_event, count(*)::pg_catalog.int4 \
    FROM pg_catalog.pg_stat_get_activity(NULL) AS a \
    WHERE a.application_name = $1 OR a.backend_type = 'autovacuum worker' \
    GROUP BY 1, 2, 3, 4, 5";

/// Samples the server.
pub struct BackendLook {
    runtime: Runtime,
    connection: ServerConnection,
    sessions: Statement,
    counters: Statement,
    clients: String,
    segment_bytes: u64,
    database: String,
    failures: u32,
}

impl BackendLook {
    /// Connects, to sample a table and the sessions with an application name.
    pub fn open(
        address: &DatabaseAddress,
        version: i32,
        clients: String,
        table: Option<String>,
    ) -> Result<BackendLook, ClientError> {
        let doing = "preparing to look at the server";
        let built = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = built.map_err(|error| ClientError::Lost {
            doing: doing.to_owned(),
            reason: error.to_string(),
        })?;
        let size = match table {
            // While the table is extended, its size is a number of whole pages.
            Some(table) => format!("pg_catalog.pg_relation_size('{table}')"),
            None => "0::pg_catalog.int8".to_owned(),
        };
        let counters = format!(
            "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::pg_catalog.int8, \
                    pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), '0/0')::pg_catalog.int8, \
                    {}, {size}",
            checkpoints(version)
        );
        let opened = runtime.block_on(async {
            let connection = ServerConnection::open(address, "inrush bench meter").await?;
            let prepare = async |sql: &str| {
                let prepared = connection.client.prepare(sql).await;
                prepared.map_err(|error| connection.error(error, doing))
            };
            let sessions = prepare(SESSIONS).await?;
            let counters = prepare(&counters).await?;
            let segment = "SELECT setting::pg_catalog.int8 FROM pg_catalog.pg_settings \
                           WHERE name = 'wal_segment_size'";
            let rows = connection.query(segment, &[], doing).await?;
            let segment_bytes = rows.first().map_or(0, |row| row.get::<_, i64>(0));
            Ok((connection, sessions, counters, segment_bytes.unsigned_abs()))
        });
        let (connection, sessions, counters, segment_bytes) = opened?;
        Ok(BackendLook {
            runtime,
            connection,
            sessions,
            counters,
            clients,
            segment_bytes,
            database: address.config.get_dbname().unwrap_or_default().to_owned(),
            failures: 0,
        })
    }

    async fn ask(&self) -> Result<Seen, tokio_postgres::Error> {
        let client = &self.connection.client;
        let mut seen = Seen {
            wal_segment_bytes: self.segment_bytes,
            ..Seen::default()
        };
        for row in client.query(&self.sessions, &[&self.clients]).await? {
            let (is_own, is_vacuum): (Option<bool>, Option<bool>) = (row.get(0), row.get(1));
            let (state, class, event): (Option<&str>, Option<&str>, Option<&str>) =
                (row.get(2), row.get(3), row.get(4));
            let count = u32::try_from(row.get::<_, i32>(5)).unwrap_or(0);
            if is_vacuum == Some(true) {
                seen.vacuum_workers += count;
            } else if is_own == Some(true) {
                let name = event_name(class, event).unwrap_or_default();
                seen.sessions
                    .push((backend_state(state, class, event), name, count));
            }
        }
        let row = client.query_one(&self.counters, &[]).await?;
        let number = |at: usize| row.get::<_, Option<i64>>(at).unwrap_or(0).unsigned_abs();
        seen.wal_inserted = number(0);
        seen.wal_flushed = number(1);
        seen.checkpoints = number(2);
        seen.table_bytes = number(3);
        Ok(seen)
    }
}

impl ServerLook for BackendLook {
    fn look(&mut self) -> Option<Seen> {
        if self.failures >= FAILURES_MAX {
            return None;
        }
        let asked = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, self.ask()).await });
        match asked {
            Ok(Ok(seen)) => {
                self.failures = 0;
                Some(seen)
            }
            _ => {
                self.failures += 1;
                None
            }
        }
    }

    fn processes(&mut self, client_process: i32) -> Vec<i32> {
        if !is_backend(client_process, &self.database) {
            return Vec::new();
        }
        process::parent(client_process).map_or_else(Vec::new, process::children)
    }

    fn own_process(&self) -> i32 {
        self.connection.backend_process_id
    }
}
