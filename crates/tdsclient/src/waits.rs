//! Each wait type of SQL Server belongs to a category, which says what a session waits for.
//!
//! The categories are those of `sys.query_store_wait_stats`
//! (https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-query-store-wait-stats-transact-sql).
//! The full name of a wait event is its category, a colon and its type. `IMPPROV_IOWAIT` ("waits for a bulk load I/O to
//! finish", `sys.dm_os_wait_stats`) is a wait for the source of the rows, so it is counted as a wait for the network.

use inrush_verdict::BackendState;

/// Prefixes of wait types, with their categories.
const CATEGORIES: [(&str, &str); 36] = [
    ("SOS_SCHEDULER_YIELD", "CPU"),
    ("THREADPOOL", "Worker Thread"),
    ("LCK_M_", "Lock"),
    ("PAGEIOLATCH_", "Buffer IO"),
    ("PAGELATCH_", "Buffer Latch"),
    ("LATCH_", "Latch"),
    ("RESOURCE_SEMAPHORE_QUERY_COMPILE", "Compilation"),
    ("RESOURCE_SEMAPHORE", "Memory"),
    ("CMEMTHREAD", "Memory"),
    ("CMEMPARTITIONED", "Memory"),
    ("MEMORY_ALLOCATION_EXT", "Memory"),
    ("RESERVED_MEMORY_ALLOCATION_EXT", "Memory"),
    ("LOGMGR", "Tran Log IO"),
    ("LOGBUFFER", "Tran Log IO"),
    ("WRITELOG", "Tran Log IO"),
    ("CHKPT", "Tran Log IO"),
    ("LOG_RATE_GOVERNOR", "Log Rate Governor"),
    ("POOL_LOG_RATE_GOVERNOR", "Log Rate Governor"),
    ("INSTANCE_LOG_RATE_GOVERNOR", "Log Rate Governor"),
    ("HADR_THROTTLE_LOG_RATE_GOVERNOR", "Log Rate Governor"),
    ("HADR_", "Replication"),
    ("SE_REPL_", "Replication"),
    ("ASYNC_NETWORK_IO", "Network IO"),
    ("NET_WAITFOR_PACKET", "Network IO"),
    ("PROXY_NETWORK_IO", "Network IO"),
    ("IMPPROV_IOWAIT", "Network IO"),
    ("CXPACKET", "Parallelism"),
    ("CXCONSUMER", "Parallelism"),
    ("EXCHANGE", "Parallelism"),
    ("HT", "Parallelism"),
    ("BMP", "Parallelism"),
    ("ASYNC_IO_COMPLETION", "Other Disk IO"),
    ("IO_COMPLETION", "Other Disk IO"),
    ("WRITE_COMPLETION", "Other Disk IO"),
    ("IO_QUEUE_LIMIT", "Other Disk IO"),
    ("PREEMPTIVE_", "Preemptive"),
];
/// Calls of the system with which data files are written, filled with zeros, and flushed.
const PREEMPTIVE_OF_FILES: [&str; 4] = [
    "PREEMPTIVE_OS_WRITEFILE",
    "PREEMPTIVE_OS_WRITEFILEGATHER",
    "PREEMPTIVE_OS_FLUSHFILEBUFFERS",
    "PREEMPTIVE_OS_SETENDOFFILE",
];

/// The state of a session that waits with this wait type, and the full name of the event. A session without a wait type
/// computes.
pub fn state(wait_type: Option<&str>) -> (BackendState, Option<String>) {
    let Some(wait_type) = wait_type.filter(|name| !name.is_empty()) else {
        return (BackendState::Cpu, None);
    };
    let category = match PREEMPTIVE_OF_FILES.contains(&wait_type) {
        true => "Other Disk IO",
        false => CATEGORIES
            .iter()
            .find(|(prefix, _)| wait_type.starts_with(prefix))
            .map_or("Unknown", |(_, category)| category),
    };
    let state = match category {
        // The coordinator of parallel threads waits for what they compute.
        "CPU" | "Worker Thread" | "Parallelism" => BackendState::Cpu,
        "Network IO" => BackendState::Client,
        "Tran Log IO" | "Log Rate Governor" | "Replication" => BackendState::Wal,
        "Buffer IO" | "Other Disk IO" => BackendState::DataFile,
        "Lock" => BackendState::Lock,
        "Latch" | "Buffer Latch" => BackendState::Internal,
        _ => BackendState::Other,
    };
    (state, Some(format!("{category}:{wait_type}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_types_have_the_causes_of_their_categories() {
        assert_eq!(state(None), (BackendState::Cpu, None));
        assert_eq!(state(Some("")), (BackendState::Cpu, None));
        for (wait_type, expected, category) in [
            ("SOS_SCHEDULER_YIELD", BackendState::Cpu, "CPU"),
            ("CXPACKET", BackendState::Cpu, "Parallelism"),
            ("PAGELATCH_UP", BackendState::Internal, "Buffer Latch"),
            ("LATCH_EX", BackendState::Internal, "Latch"),
            ("PAGEIOLATCH_SH", BackendState::DataFile, "Buffer IO"),
            ("IO_COMPLETION", BackendState::DataFile, "Other Disk IO"),
            (
                "PREEMPTIVE_OS_WRITEFILEGATHER",
                BackendState::DataFile,
                "Other Disk IO",
            ),
            (
                "PREEMPTIVE_OS_LOOKUPACCOUNTSID",
                BackendState::Other,
                "Preemptive",
            ),
            ("WRITELOG", BackendState::Wal, "Tran Log IO"),
            ("LOGBUFFER", BackendState::Wal, "Tran Log IO"),
            ("LOG_RATE_GOVERNOR", BackendState::Wal, "Log Rate Governor"),
            (
                "HADR_THROTTLE_LOG_RATE_GOVERNOR",
                BackendState::Wal,
                "Log Rate Governor",
            ),
            ("HADR_SYNC_COMMIT", BackendState::Wal, "Replication"),
            ("ASYNC_NETWORK_IO", BackendState::Client, "Network IO"),
            ("IMPPROV_IOWAIT", BackendState::Client, "Network IO"),
            ("LCK_M_SCH_M", BackendState::Lock, "Lock"),
            ("RESOURCE_SEMAPHORE", BackendState::Other, "Memory"),
            ("SOMETHING_NEW", BackendState::Other, "Unknown"),
        ] {
            let event = Some(format!("{category}:{wait_type}"));
            assert_eq!(state(Some(wait_type)), (expected, event));
        }
    }
}
