//! The machine that the loader runs on.

use std::fs;

use inrush_system::system_calls::processor_times;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineReport {
    /// Cores that the loader may use.
    pub cores: usize,
    /// The processor's name.
    pub processor: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel.
    pub kernel: String,
    /// The most memory that the loader had resident.
    pub loader_memory_peak_bytes: u64,
    /// CPU seconds of the loader, user and system.
    pub loader_cpu_s: (f64, f64),
}

/// This machine, and the loader's use of it so far.
pub fn machine() -> MachineReport {
    MachineReport {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        processor: value_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
        memory_bytes: kibibytes_of("/proc/meminfo", "MemTotal"),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
        loader_memory_peak_bytes: memory_peak_bytes(),
        loader_cpu_s: loader_cpu_s(),
    }
}

/// The most memory that this process had resident (`VmHWM`).
pub fn memory_peak_bytes() -> u64 {
    kibibytes_of("/proc/self/status", "VmHWM")
}

fn kibibytes_of(file: &str, key: &str) -> u64 {
    value_of(file, key)
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

fn value_of(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// CPU seconds of this process so far, user and system.
pub fn loader_cpu_s() -> (f64, f64) {
    processor_times().unwrap_or_default()
}
