//! Wait events by their full names: the class, a colon, and the event. The classes are PostgreSQL's, or the wait
//! categories of SQL Server, which `sys.query_store_wait_stats` documents.

/// True if a backend with this event waits for a disk: for data files or for the log.
pub(crate) fn is_of_disk(event: &str) -> bool {
    const CLASSES: [&str; 6] = [
        "IO:",
        "Buffer IO:",
        "Other Disk IO:",
        "Tran Log IO:",
        "Log Rate Governor:",
        "Replication:",
    ];
    is_of(event, &CLASSES) || event.starts_with("LWLock:WAL") || event == "IPC:SyncRep"
}

/// True if a backend with this event waits for the other end of its connection.
pub(crate) fn is_of_client(event: &str) -> bool {
    is_of(event, &["Client:", "Network IO:"])
}

/// True if a backend with this event waits for another backend inside the server.
pub(crate) fn is_internal(event: &str) -> bool {
    const CLASSES: [&str; 4] = ["LWLock:", "BufferPin:", "Latch:", "Buffer Latch:"];
    let is_of_disk = event.starts_with("LWLock:WAL") || event == "LWLock:BufferIO";
    is_of(event, &CLASSES) && !is_of_disk || event == "Lock:extend"
}

/// True if the event belongs to none of the other states.
pub(crate) fn is_other(event: &str) -> bool {
    const CLASSES: [&str; 9] = [
        "IPC:",
        "Timeout:",
        "Activity:",
        "Extension:",
        "InjectionPoint:",
        "Memory:",
        "Compilation:",
        "Preemptive:",
        "Unknown:",
    ];
    is_of(event, &CLASSES) && event != "IPC:SyncRep"
}

fn is_of(event: &str, classes: &[&str]) -> bool {
    classes.iter().any(|class| event.starts_with(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_of_one_kind() {
        for (event, expected) in [
            ("IO:DataFileRead", [true, false, false]),
            ("LWLock:WALInsert", [true, false, false]),
            ("IPC:SyncRep", [true, false, false]),
            ("Tran Log IO:WRITELOG", [true, false, false]),
            ("Buffer IO:PAGEIOLATCH_EX", [true, false, false]),
            ("LWLock:BufferContent", [false, true, false]),
            ("Lock:extend", [false, true, false]),
            ("Buffer Latch:PAGELATCH_UP", [false, true, false]),
            ("Lock:relation", [false, false, false]),
            ("Lock:LCK_M_X", [false, false, false]),
            ("Network IO:ASYNC_NETWORK_IO", [false, false, false]),
            ("Timeout:PgSleep", [false, false, true]),
            ("Memory:RESOURCE_SEMAPHORE", [false, false, true]),
        ] {
            let found = [is_of_disk(event), is_internal(event), is_other(event)];
            assert_eq!(found, expected, "{event}");
        }
    }
}
