//! The CPU of the whole machine, as `/proc/stat` counts it since the machine started.

use std::fs;

use rustix::param::clock_ticks_per_second;

/// The time of all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCpu {
    /// Microseconds that cores were busy.
    pub busy_us: u64,
    /// Microseconds that the host gave to other machines.
    pub stolen_us: u64,
    /// Context switches.
    pub context_switches: u64,
    /// Threads that run or wait for a CPU now.
    pub running: u64,
}

impl MachineCpu {
    /// Reads the figures; `None` if `/proc` is not there.
    pub fn read() -> Option<MachineCpu> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        MachineCpu::parse(&text, 1_000_000 / clock_ticks_per_second().max(1))
    }

    fn parse(text: &str, tick_us: u64) -> Option<MachineCpu> {
        let first = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = first
            .split_ascii_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        let [
            user,
            nice,
            system,
            _idle,
            _iowait,
            irq,
            soft_irq,
            stolen,
            ..,
        ] = *ticks
        else {
            return None;
        };
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().parse::<u64>().ok()
        };
        Some(MachineCpu {
            busy_us: (user + nice + system + irq + soft_irq) * tick_us,
            stolen_us: stolen * tick_us,
            context_switches: value("ctxt ").unwrap_or(0),
            running: value("procs_running ").unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_of_all_cores() {
        let text = "cpu  10 1 20 500 30 2 3 4 0 0\ncpu0 5 0 10 250 15 1 1 2 0 0\n\
                    ctxt 77\nbtime 1\nprocs_running 3\n";
        let expected = MachineCpu {
            busy_us: 360_000,
            stolen_us: 40_000,
            context_switches: 77,
            running: 3,
        };
        assert_eq!(MachineCpu::parse(text, 10_000), Some(expected));
        assert_eq!(MachineCpu::parse("", 10_000), None);
        assert!(MachineCpu::read().is_some_and(|cpu| cpu.running > 0));
    }
}
