//! Maps wait events to a few kinds of states, for loads and for clients.

use inrush_verdict::BackendState;

/// The state of a backend, from the wait event and the state that its server reports.
pub(crate) fn backend_state(
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
