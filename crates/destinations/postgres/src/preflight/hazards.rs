//! The hazards of the server for a load.

use std::collections::BTreeMap;

use inrush_destination::{ExpectedLoad, LoadVolume};
use inrush_pgclient::connections_left::{CONNECTIONS_LEFT, ConnectionsLeft, LackOfConnections};
use inrush_rows::finding::Finding;

use crate::plan::switch_statements::lock_mode;
use crate::plan::{FlowPlan, Plan};
use crate::{PostgresError, Session};

/// Connections that a run has besides those of its streams.
const OTHER_CONNECTIONS: i64 = 1;

/// The most conflicting locks that are named.
const LOCKS_MAX: usize = 5;

/// A load that would fill more than this share of the free space is reported.
const DISK_SHARE: f64 = 0.8;

/// The hazards of a load: those of the server's state while the volume is not known, and those of the volume once it is
/// known.
pub async fn of_load(
    session: &Session,
    plan: &Plan,
    expected: &ExpectedLoad,
) -> Result<Vec<Finding>, PostgresError> {
    if let Some(volume) = &expected.volume {
        return of_volume(session, plan, volume).await;
    }
    let mut found = of_connections(session, expected.streams).await?;
    found.extend(of_settings(session, plan).await?);
    found.extend(of_locks(session, plan).await?);
    Ok(found)
}

/// The findings about connections that the server has left for this role.
async fn of_connections(session: &Session, streams: usize) -> Result<Vec<Finding>, PostgresError> {
    let rows = session
        .query(CONNECTIONS_LEFT, &[], "asking for the server's limits")
        .await?;
    let mut found = Vec::new();
    let row = rows.first().map(|row| -> Vec<Option<String>> {
        let texts = 0..row.len();
        texts.map(|index| row.get(index)).collect()
    });
    if let Some(left) = row.as_deref().and_then(ConnectionsLeft::read) {
        let needed = streams as i64 + OTHER_CONNECTIONS;
        // This session is one of the connections in use.
        for LackOfConnections { what, raise, free } in left.lacks(needed, 1) {
            let hint = format!("{raise}; or --streams {}", (free - 1).max(1));
            found.push(Finding::stops(what, hint));
        }
    }
    Ok(found)
}

/// The findings about the WAL and the disk that the load fills.
async fn of_volume(
    session: &Session,
    plan: &Plan,
    volume: &LoadVolume,
) -> Result<Vec<Finding>, PostgresError> {
    let mut found = Vec::new();
    let settings = WalSettings::ask(session).await?;
    let log_bytes = volume.log_bytes.unwrap_or(0) as f64;
    found.extend(of_wal(plan, log_bytes, &settings));
    if let (true, Some(table_bytes)) = (plan.settings.disk_check, volume.table_bytes) {
        let kept_wal = log_bytes.min(settings.max_wal_bytes);
        found.extend(of_disk(plan, table_bytes as f64, kept_wal));
    }
    Ok(found)
}

async fn of_settings(session: &Session, plan: &Plan) -> Result<Vec<Finding>, PostgresError> {
    let rows = session
        .query(
            "SELECT current_setting('synchronous_standby_names'), current_setting('archive_mode'), \
                    current_setting('fsync')",
            &[],
            "asking for the server's settings",
        )
        .await?;
    let mut found = Vec::new();
    let standbys: String = rows[0].get(0);
    if !standbys.is_empty() && plan.server.wal_level != "minimal" {
        found.push(Finding::hurts(
            format!("each COMMIT waits for a standby (synchronous_standby_names = '{standbys}')"),
            "if the load can be repeated after a loss, set synchronous_commit = local for the role",
        ));
    }
    let archive: String = rows[0].get(1);
    if archive != "off" {
        found.push(Finding::tells(format!(
            "archive_mode = {archive}: the WAL of the load is archived as well"
        )));
    }
    let fsync: String = rows[0].get(2);
    if fsync == "off" {
        found.push(Finding::tells(
            "fsync = off: a crash of the machine may lose or damage the loaded rows",
        ));
    }
    Ok(found)
}

/// The sessions whose lock on a target would make the run wait if it switched now.
async fn of_locks(session: &Session, plan: &Plan) -> Result<Vec<Finding>, PostgresError> {
    let mut wanted: BTreeMap<u32, &FlowPlan> = BTreeMap::new();
    for flow in &plan.flows {
        if let Some(facts) = &flow.facts {
            wanted.insert(facts.oid, flow);
        }
    }
    let oids: Vec<u32> = wanted.keys().copied().collect();
    let rows = session
        .query(
            "SELECT l.relation, l.relation::regclass::text, l.mode, l.pid, \
                    coalesce(nullif(a.application_name, ''), a.usename::text, 'unknown'), \
                    coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::float8 \
             FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
             WHERE l.locktype = 'relation' AND l.granted AND l.pid <> pg_backend_pid() \
               AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
               AND l.relation = ANY($1) ORDER BY 6 DESC",
            &[&oids],
            "asking who holds locks",
        )
        .await?;
    let in_the_way = rows.iter().filter(|row| {
        let flow = wanted[&row.get::<_, u32>(0)];
        is_in_the_way(row.get(2), lock_mode(flow))
    });
    Ok(in_the_way
        .take(LOCKS_MAX)
        .map(|row| {
            let (table, mode, process, name, seconds): (String, String, i32, String, f64) =
                (row.get(1), row.get(2), row.get(3), row.get(4), row.get(5));
            Finding::hurts(
                format!(
                    "{name} (process {process}) holds {mode} on {table} in a transaction of \
                     {seconds:.0} s: if it lasts until the switch, the switch waits {} ms for the \
                     lock, tries again, and gives up in the end",
                    plan.settings.lock_timeout_ms
                ),
                "let that transaction end before the switch",
            )
        })
        .collect())
}

/// True if a held lock, by its name in `pg_locks`, conflicts with a wanted lock, by its name in SQL.
fn is_in_the_way(held: &str, wanted: &str) -> bool {
    // The modes are listed from the weakest to the strongest. A wanted mode conflicts with `weakest` and all stronger
    // ones, and with no weaker one.
    const HELD: [&str; 8] = [
        "AccessShareLock",
        "RowShareLock",
        "RowExclusiveLock",
        "ShareUpdateExclusiveLock",
        "ShareLock",
        "ShareRowExclusiveLock",
        "ExclusiveLock",
        "AccessExclusiveLock",
    ];
    let weakest = match wanted {
        "ACCESS EXCLUSIVE" => "AccessShareLock",
        "SHARE ROW EXCLUSIVE" => "RowExclusiveLock",
        "SHARE UPDATE EXCLUSIVE" => "ShareUpdateExclusiveLock",
        _ => "ShareLock",
    };
    let place = |name: &str| HELD.iter().position(|held| *held == name);
    // An unknown lock is assumed to conflict.
    place(held).is_none_or(|held| Some(held) >= place(weakest))
}

/// The findings about the server's WAL, from the predicted volume.
fn of_wal(plan: &Plan, wal_bytes: f64, settings: &WalSettings) -> Option<Finding> {
    // A checkpoint begins early enough to end before the limit is reached.
    let between = settings.max_wal_bytes / (1.0 + settings.completion_target);
    if between <= 0.0 || wal_bytes <= between {
        return None;
    }
    let hint = match plan.server.wal_level.as_str() {
        "minimal" => "raise max_wal_size",
        _ => "raise max_wal_size, or load under wal_level = minimal",
    };
    Some(Finding::hurts(
        format!(
            "the load writes about {:.1} GB to the WAL, and the server takes a checkpoint every {:.1} GB \
             (max_wal_size): about {:.0} during the load",
            wal_bytes / 1e9,
            between / 1e9,
            (wal_bytes / between).floor()
        ),
        hint,
    ))
}

/// The settings of the WAL.
#[derive(Clone, Copy, Debug, Default)]
pub struct WalSettings {
    /// `max_wal_size`.
    pub max_wal_bytes: f64,
    /// `checkpoint_completion_target`.
    pub completion_target: f64,
    /// `fsync` is on.
    pub is_flushed: bool,
}

impl WalSettings {
    /// Reads them from the server.
    pub async fn ask(session: &Session) -> Result<WalSettings, PostgresError> {
        let rows = session
            .query(
                "SELECT pg_size_bytes(current_setting('max_wal_size'))::float8, \
                        current_setting('checkpoint_completion_target')::float8, \
                        current_setting('fsync') = 'on'",
                &[],
                "asking for the settings of the WAL",
            )
            .await?;
        Ok(WalSettings {
            max_wal_bytes: rows[0].get(0),
            completion_target: rows[0].get(1),
            is_flushed: rows[0].get(2),
        })
    }
}

/// The findings about the server's disk, from the predicted volume, if the disk can be seen.
fn of_disk(plan: &Plan, table_bytes: f64, wal_bytes: f64) -> Option<Finding> {
    let disk = plan.disk.as_ref()?;
    let needed = table_bytes + wal_bytes;
    let free = disk.free_bytes as f64;
    let what = format!(
        "the tables take about {:.1} GB{}, and the server's disk has {:.1} GB left at {}",
        table_bytes / 1e9,
        match wal_bytes > 0.0 {
            true => format!(", the WAL up to {:.1} GB", wal_bytes / 1e9),
            false => String::new(),
        },
        free / 1e9,
        disk.folder.display()
    );
    if table_bytes > free {
        return Some(Finding::stops(what, "free space there"));
    }
    (needed > DISK_SHARE * free).then(|| Finding::hurts(what, "free space there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_in_the_way_of_what_takes_tables_out_alone() {
        for (held, wanted, expected) in [
            ("AccessShareLock", "ACCESS EXCLUSIVE", true),
            ("AccessShareLock", "SHARE ROW EXCLUSIVE", false),
            ("AccessShareLock", "SHARE UPDATE EXCLUSIVE", false),
            ("RowShareLock", "SHARE ROW EXCLUSIVE", false),
            ("RowExclusiveLock", "SHARE ROW EXCLUSIVE", true),
            ("RowExclusiveLock", "SHARE UPDATE EXCLUSIVE", false),
            ("ShareUpdateExclusiveLock", "SHARE UPDATE EXCLUSIVE", true),
            ("ShareUpdateExclusiveLock", "ROW EXCLUSIVE", false),
            ("ShareLock", "ROW EXCLUSIVE", true),
            ("AccessExclusiveLock", "ROW EXCLUSIVE", true),
        ] {
            assert_eq!(is_in_the_way(held, wanted), expected, "{held}, {wanted}");
        }
    }
}
