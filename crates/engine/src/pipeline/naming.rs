//! The names of a run and of its holder.

use std::time::{SystemTime, UNIX_EPOCH};

use inrush_plan::identity;
use inrush_rows::ids::RunName;

/// Host and process, for the message to another process that finds the run locked.
pub fn holder() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown host".to_owned(), |text| text.trim().to_owned());
    format!("process {} on {host}", std::process::id())
}

/// A name that sorts by time and that no other run has: time, package, and a digest of the clock's nanoseconds and the
/// process ID.
pub fn new_run_name(package: &str) -> RunName {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let second = jiff::Timestamp::from_second(now.as_secs() as i64)
        .map(|moment| moment.strftime("%Y%m%dT%H%M%SZ").to_string())
        .unwrap_or_default();
    let word: String = package
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .take(16)
        .collect();
    let chance = identity::digest([
        now.as_nanos().to_string().as_str(),
        &std::process::id().to_string(),
    ]);
    let word = if word.is_empty() { "run" } else { &word };
    RunName::new(format!("{second}-{word}-{}", &chance[..6]))
}
