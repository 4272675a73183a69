//! Queries for the present states of a server's sessions, and the mapping of wait events to a few kinds of states. Used
//! for destinations, sources and clients.

use inrush_verdict::BackendState;

/// A query for the states of the backends that an SQL expression of type `int4[]` lists, in rows of five columns:
/// process id, state, class of the wait event, wait event, and the process ids whose lock it waits for. It reads one
/// backend after the other, because the cost of a view of all backends grows with their number.
pub fn states_of(process_ids: &str) -> String {
    format!(
        "SELECT a.pid, a.state, a.wait_event_type, a.wait_event, \
                CASE WHEN a.wait_event_type = 'Lock' THEN pg_catalog.pg_blocking_pids(a.pid) END \
         FROM pg_catalog.unnest({process_ids}) AS one(pid), \
              LATERAL pg_catalog.pg_stat_get_activity(one.pid) AS a"
    )
}

/// A query for the holders of a lock, whose processes an SQL expression of type `int4[]` lists, in rows of four
/// columns: process id, user, application, state. Their statements are not read, because they may be confidential.
pub fn holders_of(process_ids: &str) -> String {
    format!(
        "SELECT pid, coalesce(usename, ''), coalesce(application_name, ''), coalesce(state, '') \
         FROM pg_catalog.pg_stat_activity WHERE pid = ANY({process_ids})"
    )
}

/// A holder of a lock, in words.
pub fn holder(process_id: i32, user: &str, application: &str, state: &str) -> String {
    format!("process {process_id} of user {user:?}, application {application:?}, {state}")
}

/// The full name of a wait event, such as `IO:WALWrite`.
pub fn event_name(class: Option<&str>, event: Option<&str>) -> Option<String> {
    Some(format!("{}:{}", class?, event?))
}

/// The state of a backend, from the wait event and the state that its server reports.
pub fn backend_state(
    state: Option<&str>,
    class: Option<&str>,
    event: Option<&str>,
) -> BackendState {
    if state.is_some_and(|state| state.starts_with("idle")) {
        return BackendState::Idle;
    }
    let event = event.unwrap_or_default();
    let is_wal = event.starts_with("WAL") || event.starts_with("Wal");
    match class {
        None => BackendState::Cpu,
        Some("Client") => BackendState::Client,
        Some("IO" | "LWLock") if is_wal => BackendState::Wal,
        Some("IPC") if event == "SyncRep" => BackendState::Wal,
        Some("IO") => BackendState::DataFile,
        Some("LWLock") if event == "BufferIO" => BackendState::DataFile,
        Some("Lock") if event != "extend" => BackendState::Lock,
        Some("Lock" | "LWLock" | "BufferPin" | "Buffer") => BackendState::Internal,
        Some(_) => BackendState::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_events_are_of_few_kinds() {
        let active = Some("active");
        for (class, event, expected) in [
            (None, None, BackendState::Cpu),
            (Some("Client"), Some("ClientRead"), BackendState::Client),
            (Some("IO"), Some("WALWrite"), BackendState::Wal),
            (Some("IO"), Some("WalSync"), BackendState::Wal),
            (Some("LWLock"), Some("WALInsert"), BackendState::Wal),
            (Some("IPC"), Some("SyncRep"), BackendState::Wal),
            (Some("IO"), Some("DataFileExtend"), BackendState::DataFile),
            (Some("Lock"), Some("extend"), BackendState::Internal),
            (Some("Lock"), Some("relation"), BackendState::Lock),
            (
                Some("LWLock"),
                Some("BufferContent"),
                BackendState::Internal,
            ),
            (Some("Timeout"), Some("PgSleep"), BackendState::Other),
        ] {
            assert_eq!(
                backend_state(active, class, event),
                expected,
                "{class:?} {event:?}"
            );
        }
        let idle = backend_state(
            Some("idle in transaction"),
            Some("Client"),
            Some("ClientRead"),
        );
        assert_eq!(idle, BackendState::Idle);
    }
}
