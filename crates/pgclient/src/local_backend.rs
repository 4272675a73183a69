//! Finds out whether a server runs on this machine, so that its processes can be observed.

use std::fs;

/// True if a process of this machine is a server process for that database. A server in a container, or behind a
/// pooler, reports numbers that belong to other processes here.
pub fn is_backend(process_id: i32, database: &str) -> bool {
    let Ok(words) = fs::read(format!("/proc/{process_id}/cmdline")) else {
        return false;
    };
    let title = String::from_utf8_lossy(&words);
    title.starts_with("postgres:") && title.contains(database)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_is_none() {
        let own = i32::try_from(std::process::id()).expect("a process's number");
        assert!(!is_backend(own, "postgres"));
    }
}
