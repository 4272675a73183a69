//! The system's figures of this machine and of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use inrush_system::machine_cpu::MachineCpu;
use rustix::param::page_size;

use super::steps::{Figure, FigureKind, Look, Steps};
use crate::report::loader_cpu_s;

/// Bytes of a sector in `/proc/diskstats`, the same for every device.
const SECTOR_BYTES: u64 = 512;

/// The machine's figures, and the open files from which they are read.
pub struct MachineColumns {
    /// CPU time of all cores while busy, microseconds.
    pub cpu: Figure,
    /// CPU time taken by the host, microseconds.
    pub stolen: Figure,
    /// CPU time of the loader, microseconds.
    pub loader: Figure,
    /// Time held back by a limit of the control group, microseconds.
    pub throttled: Figure,
    /// Bytes read from block devices.
    pub disk_read: Figure,
    /// Bytes written to block devices.
    pub disk_written: Figure,
    /// Busy time of the busiest block device, milliseconds.
    pub disk_busy: Figure,
    /// Resident memory of the loader, bytes.
    pub memory: Figure,
    throttling: Option<PathBuf>,
    page_bytes: u64,
    /// Whole block devices, without those that are in memory.
    disks: BTreeSet<String>,
    /// Milliseconds that each device was busy, at the last sample.
    busy_before: BTreeMap<String, u64>,
    busiest_ms: u64,
}

impl MachineColumns {
    /// Adds columns for the figures.
    pub fn new(steps: &mut Steps) -> MachineColumns {
        MachineColumns {
            cpu: steps.column(FigureKind::Sum),
            stolen: steps.column(FigureKind::Sum),
            loader: steps.column(FigureKind::Sum),
            throttled: steps.column(FigureKind::Sum),
            disk_read: steps.column(FigureKind::Sum),
            disk_written: steps.column(FigureKind::Sum),
            disk_busy: steps.column(FigureKind::Sum),
            memory: steps.column(FigureKind::State),
            throttling: throttling_file(),
            page_bytes: page_size() as u64,
            disks: disks(),
            busy_before: BTreeMap::new(),
            busiest_ms: 0,
        }
    }

    /// Samples all figures.
    pub fn read(&mut self, look: &mut Look) {
        if let Some(cpu) = MachineCpu::read() {
            look.set(self.cpu, cpu.busy_us);
            look.set(self.stolen, cpu.stolen_us);
        }
        let (user, system) = loader_cpu_s();
        look.set(self.loader, ((user + system) * 1e6) as u64);
        let resident = fs::read_to_string("/proc/self/statm").ok();
        let pages = resident.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
        look.set_if(self.memory, pages.map(|pages| pages * self.page_bytes));
        let throttled = self.throttling.as_ref();
        let throttled = throttled.and_then(|path| fs::read_to_string(path).ok());
        look.set_if(
            self.throttled,
            throttled.and_then(|text| throttled_us(&text)),
        );
        if let Ok(text) = fs::read_to_string("/proc/diskstats") {
            self.read_disks(&text, look);
        }
    }

    fn read_disks(&mut self, text: &str, look: &mut Look) {
        let (mut read, mut written, mut busiest) = (0, 0, 0);
        for disk in text.lines().filter_map(Disk::parse) {
            // A partition's figures are included in its disk's.
            if !self.disks.contains(disk.name) {
                continue;
            }
            // A loop device's bytes are counted at the disk with its file.
            if !disk.name.starts_with("loop") && !disk.name.starts_with("dm-") {
                read += disk.sectors_read * SECTOR_BYTES;
                written += disk.sectors_written * SECTOR_BYTES;
            }
            let before = self.busy_before.insert(disk.name.to_owned(), disk.busy_ms);
            let busy = disk.busy_ms - before.unwrap_or(disk.busy_ms).min(disk.busy_ms);
            busiest = busiest.max(busy);
        }
        self.busiest_ms += busiest;
        look.set(self.disk_read, read);
        look.set(self.disk_written, written);
        look.set(self.disk_busy, self.busiest_ms);
    }
}

/// A line of `/proc/diskstats`.
struct Disk<'a> {
    name: &'a str,
    sectors_read: u64,
    sectors_written: u64,
    busy_ms: u64,
}

impl Disk<'_> {
    fn parse(line: &str) -> Option<Disk<'_>> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let name = *fields.get(2)?;
        Some(Disk {
            name,
            sectors_read: fields.get(5)?.parse().ok()?,
            sectors_written: fields.get(9)?.parse().ok()?,
            busy_ms: fields.get(12)?.parse().ok()?,
        })
    }
}

/// The names of all disks.
fn disks() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with("ram") && !name.starts_with("zram"))
        .map(|name| name.replace('!', "/"))
        .collect()
}

/// Microseconds that a control group was held back, from either version of the file.
fn throttled_us(text: &str) -> Option<u64> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    value("throttled_usec ").or_else(|| Some(value("throttled_time ")? / 1_000))
}

/// The file in which the control group counts how often it held this process's CPU back.
fn throttling_file() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let root = match controllers {
            "" => PathBuf::from("/sys/fs/cgroup"),
            own if own.split(',').any(|one| one == "cpu") => {
                PathBuf::from("/sys/fs/cgroup").join(own)
            }
            _ => return None,
        };
        let file = root.join(path.trim_start_matches('/')).join("cpu.stat");
        file.is_file().then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_in_both_forms() {
        assert_eq!(throttled_us("nr_periods 5\nthrottled_usec 70\n"), Some(70));
        assert_eq!(
            throttled_us("nr_periods 5\nthrottled_time 70000\n"),
            Some(70)
        );
        assert_eq!(throttled_us("usage_usec 5\n"), None);
    }

    #[test]
    fn this_very_machine_is_known() {
        let mut steps = Steps::default();
        let mut columns = MachineColumns::new(&mut steps);
        let mut look = steps.look();
        columns.read(&mut look);
        steps.begin(&look);
        steps.add(&look, 1);
        assert!(steps.series(columns.cpu).is_some());
        assert!(steps.series_or_zero(columns.memory)[0] > 0);
    }
}
