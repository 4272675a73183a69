//! The kernel's data about threads of this process and about other processes, such as a server's backends.

use std::fs;

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

/// The microseconds in which a thread of this process ran on a CPU, and those in which it waited for a CPU.
pub fn thread_cpu_us(thread_id: i32) -> Option<(u64, u64)> {
    schedule(&format!("/proc/self/task/{thread_id}/schedstat"))
}

/// The microseconds in which a process of one thread ran on a CPU, and those in which it waited for a CPU.
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
    // The process's name, before the state, may contain anything, even parentheses.
    text.rsplit_once(") ")?.1.chars().next()
}

/// The number of context switches of a process with one thread. It includes both kinds: the process waited, or another
/// process got its CPU.
pub fn context_switches(process_id: i32) -> Option<u64> {
    switches(&format!("/proc/{process_id}/status"))
}

/// The number of context switches of a thread of this process.
pub fn thread_context_switches(thread_id: i32) -> Option<u64> {
    switches(&format!("/proc/self/task/{thread_id}/status"))
}

fn switches(path: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(value("voluntary_ctxt_switches:")? + value("nonvoluntary_ctxt_switches:")?)
}

/// The number of a process's parent.
pub fn parent(process_id: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The running processes that the first thread of a process has started; empty if the kernel does not provide them.
pub fn children(process_id: i32) -> Vec<i32> {
    let path = format!("/proc/{process_id}/task/{process_id}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_ascii_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_is_known() {
        let thread = thread_id();
        assert!(thread_cpu_us(thread).is_some());
        let own = i32::try_from(std::process::id()).expect("a process's number");
        assert!(cpu_us(own).is_some());
        assert!(matches!(state(thread), Some('R' | 'S')));
        assert!(context_switches(own).is_some() && thread_context_switches(thread).is_some());
        assert!(parent(own).is_some_and(|parent| parent > 0));
    }
}
