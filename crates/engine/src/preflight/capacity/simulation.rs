//! The time of a load with given resources: its pieces of work are assigned to streams ([`model::schedule`]).
//!
//! A stream is as fast as one stream was here, until a shared resource is used up: cores of the loader and of the
//! server, the network, the disks. The cost of a byte limits how many bytes of text per second each resource can carry.
//! Two effects do not depend on bytes. Each piece ends with a COMMIT that waits until its writes are on the disk. And
//! if all streams together were slower here than the sum of their single speeds, or slower than their CPU allows, the
//! same loss is assumed ([`CostsFound::efficiency`]).

use inrush_rows::quantity::counted;

use super::{CostsFound, NeedsFound, Resources};
use crate::preflight::model::{self, Beside, Speed, WorkPiece};

/// The largest number of streams.
const STREAMS_MAX: usize = 1024;

/// The most pieces that are simulated; if there are more, several are simulated as one.
const PIECES_MAX: f64 = 4096.0;

/// The name of the disk in answers.
const DISK_WRITTEN: &str = "the writes of the server's disk";

impl CostsFound {
    /// The fewest streams with which a load takes at most one percent longer than with more streams.
    pub(super) fn useful_streams(&self, size_bytes: f64, with: &Resources) -> usize {
        let (best_s, _) = self.time(size_bytes, STREAMS_MAX, with);
        fewest(|streams| self.time(size_bytes, streams, with).0 <= best_s * 1.01)
            .unwrap_or(STREAMS_MAX)
    }

    /// Seconds of a load, and what limits it.
    pub(super) fn time(&self, size_bytes: f64, streams: usize, with: &Resources) -> (f64, String) {
        let load_s = self.simulate(size_bytes, streams, with);
        // All bytes that are written while pieces are loaded or committed pass through the disk.
        let written = self.written_per_text();
        let disk_s = with
            .disk_write_bytes_s
            .map_or(0.0, |disk| size_bytes * written / disk);
        let of_streams = self.speed_of(streams);
        let (cap, what) = least(self.caps(with));
        let limit = match cap <= of_streams {
            true => what.to_owned(),
            false => format!("the speed of {}", counted(streams as u64, "stream")),
        };
        let all_s = self.before_s + load_s.max(disk_s) + self.after_s(size_bytes);
        (all_s, limit)
    }

    /// Seconds from the end of the last stream to the end of a load of this size.
    fn after_s(&self, size_bytes: f64) -> f64 {
        let times = size_bytes / self.text_bytes.max(1.0);
        self.after_fixed_s + (self.after_s - self.after_fixed_s) * times
    }

    /// Seconds until the last of the streams ends.
    fn simulate(&self, size_bytes: f64, streams: usize, with: &Resources) -> f64 {
        let wanted = (size_bytes / self.piece_bytes.max(1.0)).round().max(1.0);
        let count = wanted.min(PIECES_MAX);
        // Pieces that are simulated as one take the sum of their seconds.
        let together = wanted / count;
        let server_s = (self.beside_s - self.flush_s).max(0.0) * self.crowding(streams, with);
        let piece = WorkPiece {
            flow: 0,
            text_bytes: size_bytes / count,
            beside: Beside {
                server_s: server_s * together,
                flush_s: self.flush_s * self.disk_slowness(with) * together,
            },
        };
        let (cap, _) = least(self.row_caps(with));
        let all = self.speed_of(streams).min(cap);
        let speed = Speed {
            one: self.stream_bytes_s.min(all),
            all,
        };
        let pieces = vec![piece; count as usize];
        model::schedule(&pieces, &[speed], streams).load_s
    }

    /// Bytes of text per second that this number of streams loads, if no resource is used up.
    fn speed_of(&self, streams: usize) -> f64 {
        match streams {
            0 | 1 => self.stream_bytes_s,
            _ => {
                (self.stream_bytes_s * streams as f64 * self.efficiency()).max(self.stream_bytes_s)
            }
        }
    }

    /// The factor by which a flush takes longer than here.
    fn disk_slowness(&self, with: &Resources) -> f64 {
        match (self.here.disk_write_bytes_s, with.disk_write_bytes_s) {
            (Some(here), Some(then)) if then > 0.0 => here / then,
            _ => 1.0,
        }
    }

    /// The factor by which a session's work beside rows takes longer than here, if more sessions than cores do such
    /// work.
    fn crowding(&self, streams: usize, with: &Resources) -> f64 {
        let for_a_core = |streams: usize, of: &Resources| {
            let cores = of.server_cores.or(of.shared_cores);
            let computing = streams as f64 * self.beside_cpu_share.unwrap_or(1.0);
            cores.map_or(1.0, |cores| (computing / cores.max(0.1)).max(1.0))
        };
        for_a_core(streams, with) / for_a_core(self.streams, &self.here)
    }

    /// The measured speed of all streams together, as a share of the sum of their single speeds, or of what the cores
    /// could carry. The rest goes to the kernel, to background processes of the server, to other programs, and to
    /// streams that wait for each other.
    pub(super) fn efficiency(&self) -> f64 {
        let Some(all_bytes_s) = self.all_bytes_s.filter(|_| self.streams > 1) else {
            return 1.0;
        };
        let (cap, _) = least(self.caps_at(&self.here, 1.0));
        let alone = (self.stream_bytes_s * self.streams as f64).min(cap);
        (all_bytes_s / alone.max(1.0)).clamp(0.01, 1.0)
    }

    /// Bytes of text in a second that each resource carries, with its name.
    fn caps(&self, with: &Resources) -> Vec<(f64, &'static str)> {
        let mut caps = self.caps_but_disk(with);
        caps.extend(carried(
            with.disk_write_bytes_s,
            Some(self.written_per_text()),
            DISK_WRITTEN,
        ));
        caps
    }

    /// Bytes of text in a second that each resource carries while rows are sent. Writes to tables reach the disk later;
    /// writes to the WAL reach it at once.
    fn row_caps(&self, with: &Resources) -> Vec<(f64, &'static str)> {
        let mut caps = self.caps_but_disk(with);
        caps.extend(carried(
            with.disk_write_bytes_s,
            self.wal_per_text,
            DISK_WRITTEN,
        ));
        caps
    }

    fn caps_but_disk(&self, with: &Resources) -> Vec<(f64, &'static str)> {
        self.caps_at(with, self.efficiency())
    }

    /// Bytes of text in a second that each resource carries, if the cores deliver only this share of their capacity.
    fn caps_at(&self, with: &Resources, share: f64) -> Vec<(f64, &'static str)> {
        let loader_s = self.loader_cpu_s_per_gb / 1e9;
        let server_s = self.server_cpu_s_per_gb.map(|seconds| seconds / 1e9);
        let usable = |cores: Option<f64>| cores.map(|cores| cores * share);
        let caps = [
            (
                usable(with.shared_cores),
                Some(loader_s + server_s.unwrap_or(0.0)),
                "the cores that loader and server share",
            ),
            (
                usable(with.loader_cores),
                Some(loader_s),
                "the loader's cores",
            ),
            (usable(with.server_cores), server_s, "the server's cores"),
            (with.network_bytes_s, self.sent_per_text, "the network"),
            (
                with.disk_read_bytes_s,
                Some(self.read_per_text),
                "the reads from the disk of the files",
            ),
        ];
        caps.into_iter()
            .filter_map(|(have, cost, what)| carried(have, cost, what))
            .collect()
    }

    fn written_per_text(&self) -> f64 {
        self.table_per_text + self.wal_per_text.unwrap_or(0.0)
    }

    pub(super) fn needs(&self, size_bytes: f64, within_s: f64) -> NeedsFound {
        let unlimited = Resources::default();
        let streams = fewest(|streams| self.time(size_bytes, streams, &unlimited).0 <= within_s);
        let load_s = within_s - self.before_s - self.after_s(size_bytes);
        let rate = size_bytes / load_s.max(1e-3);
        let first = least(self.caps(&self.here));
        let first_limit = match (streams, first) {
            (None, _) => format!(
                "the time of one piece ({:.1} MB of text at the speed of a stream, and {:.2} s besides its rows), and the time before and after the streams: no number of streams is enough",
                self.piece_bytes / 1e6,
                self.beside_s
            ),
            (_, (cap, what)) if cap < rate => format!(
                "{what}: {:.0} MB/s of text are possible here, and {:.0} MB/s are needed",
                cap / 1e6,
                rate / 1e6
            ),
            _ => "none: the resources of this machine are enough".to_owned(),
        };
        NeedsFound {
            within_s,
            streams,
            loader_cores: rate * self.loader_cpu_s_per_gb / 1e9,
            server_cores: self.server_cpu_s_per_gb.map(|seconds| rate * seconds / 1e9),
            disk_read_bytes_s: rate * self.read_per_text,
            disk_write_bytes_s: rate * self.written_per_text(),
            network_bytes_s: self.sent_per_text.map(|sent| rate * sent),
            wal_bytes: self.wal_per_text.map(|wal| wal * size_bytes),
            first_limit,
        }
    }
}

/// Bytes of text in a second that a resource carries, if it is limited and has a cost.
fn carried(
    have: Option<f64>,
    cost: Option<f64>,
    what: &'static str,
) -> Option<(f64, &'static str)> {
    let (have, cost) = (have?, cost.filter(|cost| *cost > 0.0)?);
    Some((have / cost, what))
}

/// The resource with the smallest rate, and that rate; if none is limited, the largest number and no name.
fn least(caps: Vec<(f64, &'static str)>) -> (f64, &'static str) {
    caps.into_iter()
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .unwrap_or((f64::MAX, ""))
}

/// The smallest number of streams for which `holds` is true. It must then be true for every larger number, too.
fn fewest(holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(STREAMS_MAX) {
        return None;
    }
    let (mut fails, mut works) = (0, STREAMS_MAX);
    while works - fails > 1 {
        let middle = fails + (works - fails) / 2;
        match holds(middle) {
            true => works = middle,
            false => fails = middle,
        }
    }
    Some(works)
}
