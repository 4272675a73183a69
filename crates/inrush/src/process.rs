//! What the kernel knows of threads of this process, and of processes beside it, such as a server's backends.

use std::fs;

/// Microseconds that a thread of this process ran on a CPU, and that it waited for one.
pub fn thread_cpu_us(thread_id: i32) -> Option<(u64, u64)> {
    schedule(&format!("/proc/self/task/{thread_id}/schedstat"))
}

/// Microseconds that a process of one thread ran on a CPU, and that it waited for one.
pub fn cpu_us(process_id: i32) -> Option<(u64, u64)> {
    schedule(&format!("/proc/{process_id}/schedstat"))
}

fn schedule(path: &str) -> Option<(u64, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_ascii_whitespace();
    let mut next = || words.next()?.parse::<u64>().ok();
    Some((next()? / 1_000, next()? / 1_000))
}

/// The letter of a process's state: `R` runs, `S` sleeps, `D` sleeps on a device, `T` is stopped.
pub fn state(process_id: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    // The name before it may hold anything, brackets too.
    text.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process of this machine is a server's process for that database. A server in a container, or behind a
/// pooler, tells numbers that are other processes here.
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
    fn this_very_process_is_known() {
        // SAFETY: gettid has no arguments and cannot fail.
        let thread = unsafe { libc::gettid() };
        assert!(thread_cpu_us(thread).is_some());
        let own = i32::try_from(std::process::id()).expect("a process's number");
        assert!(cpu_us(own).is_some());
        assert!(matches!(state(thread), Some('R' | 'S')));
        assert!(!is_backend(own, "postgres"));
    }
}
