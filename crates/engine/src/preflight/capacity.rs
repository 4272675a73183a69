//! Calculates the resources for a load of some size within some time, and its time with other resources. It simulates
//! the pieces of work over streams, with the costs that a preflight has measured. It does no I/O.
//!
//! Each stream is as fast as one stream was in the preflight, until a shared resource is used up: cores of the loader
//! or of the server, the network, the disks. The capacity of a resource in bytes of text per second follows from its
//! cost per byte. The pieces of work, each with its time beside rows, are then dealt to the streams
//! ([`model::schedule`]).

use inrush_rows::quantity::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{self, Beside, Speed, WorkPiece};

/// The most streams.
const STREAMS_MAX: usize = 1024;

/// The most pieces that are simulated; more pieces are joined.
const PIECES_MAX: f64 = 4096.0;

/// The costs of a load, as a preflight has measured them. Text is the uncompressed content of the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsFound {
    /// CPU seconds of the loader for a gigabyte of text.
    pub loader_cpu_s_per_gb: f64,
    /// CPU seconds of the server for a gigabyte of text; absent if its processes were not seen.
    pub server_cpu_s_per_gb: Option<f64>,
    /// Bytes read from files for a byte of text.
    pub read_per_text: f64,
    /// Bytes sent to the destination for a byte of text; absent if there is no connection.
    pub sent_per_text: Option<f64>,
    /// Bytes written to tables for a byte of text.
    pub table_per_text: f64,
    /// Bytes of WAL for a byte of text; absent if they were not counted.
    pub wal_per_text: Option<f64>,
    /// Bytes of text that one stream loads in a second alone.
    pub stream_bytes_s: f64,
    /// Bytes of text of a piece of work, the mean.
    pub piece_bytes: f64,
    /// Seconds of a piece beside its rows: making its table, counting, indexes, COMMIT.
    pub beside_s: f64,
    /// Seconds of it until the server has flushed its writes.
    pub flush_s: f64,
    /// Seconds before the streams begin.
    pub before_s: f64,
    /// Seconds after the last stream, of the switch and ANALYZE.
    pub after_s: f64,
    /// Bytes of text of this load.
    pub text_bytes: f64,
    /// Streams of this load.
    pub streams: usize,
    /// The resources of this machine.
    pub here: Resources,
}

/// The resources that a load may use. An absent resource is unlimited or unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// Cores that loader and server share; absent if they do not.
    pub shared_cores: Option<f64>,
    /// Cores of the loader alone.
    pub loader_cores: Option<f64>,
    /// Cores of the server alone.
    pub server_cores: Option<f64>,
    /// Bytes in a second of the network.
    pub network_bytes_s: Option<f64>,
    /// Bytes in a second that the server's disk writes.
    pub disk_write_bytes_s: Option<f64>,
    /// Bytes in a second that the disk of the files reads.
    pub disk_read_bytes_s: Option<f64>,
}

/// The questions about capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CapacityWish {
    /// Bytes of text; `None` means those of the load itself.
    pub size_bytes: Option<f64>,
    /// Seconds in which everything must be loaded.
    pub within_s: Option<f64>,
    /// Resources instead of this machine's.
    pub what_if: Option<Resources>,
    /// Streams instead of as many as are useful.
    pub streams: Option<usize>,
    /// Pieces of work instead of pieces as large as now.
    pub pieces: Option<f64>,
}

/// The answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityFound {
    /// Bytes of text.
    pub size_bytes: f64,
    /// Seconds of a load of that size with this machine's resources, or those of `--what-if`.
    pub predicted_s: f64,
    /// The streams of it.
    pub streams: usize,
    /// The limiting step, in words.
    pub limit: String,
    /// The resources that were assumed.
    pub with: Resources,
    /// The needs of a load within the time; absent if no time was given.
    pub needs: Option<NeedsFound>,
    /// All assumptions, in words.
    pub assumptions: Vec<String>,
}

/// The needs of a load within a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeedsFound {
    /// Seconds that were asked for.
    pub within_s: f64,
    /// The fewest streams; absent if no number of streams is enough on any machine.
    pub streams: Option<usize>,
    /// Cores of the loader.
    pub loader_cores: f64,
    /// Cores of the server.
    pub server_cores: Option<f64>,
    /// Bytes in a second that are read from files.
    pub disk_read_bytes_s: f64,
    /// Bytes in a second that the server writes: tables and WAL.
    pub disk_write_bytes_s: f64,
    /// Bytes in a second over the network.
    pub network_bytes_s: Option<f64>,
    /// Bytes of WAL in all.
    pub wal_bytes: Option<f64>,
    /// The first limit that is met with this machine's resources, in words.
    pub first_limit: String,
}

impl CostsFound {
    /// The costs with those of a server added: bytes sent for a byte of text, the rate of the network, and the bytes
    /// per second that the server's disk can write.
    pub fn with_server(
        self,
        sent_per_text: f64,
        network_bytes_s: Option<f64>,
        disk_write_bytes_s: Option<f64>,
    ) -> CostsFound {
        CostsFound {
            sent_per_text: Some(sent_per_text),
            here: Resources {
                network_bytes_s,
                disk_write_bytes_s: disk_write_bytes_s.filter(|speed| *speed > 0.0),
                ..self.here
            },
            ..self
        }
    }

    /// Answers the questions.
    pub fn capacity(&self, wish: &CapacityWish) -> CapacityFound {
        let size_bytes = wish.size_bytes.unwrap_or(self.text_bytes).max(1.0);
        if let Some(pieces) = wish.pieces {
            let mut found = self.cut_into(pieces, size_bytes).capacity(&CapacityWish {
                pieces: None,
                ..*wish
            });
            found.assumptions = self.assumptions(size_bytes, Some(pieces));
            return found;
        }
        let with = wish.what_if.unwrap_or(self.here);
        let streams = wish
            .streams
            .unwrap_or_else(|| self.useful_streams(size_bytes, &with));
        let (predicted_s, limit) = self.time(size_bytes, streams, &with);
        CapacityFound {
            size_bytes,
            predicted_s,
            streams,
            limit,
            with,
            needs: wish
                .within_s
                .map(|within_s| self.needs(size_bytes, within_s)),
            assumptions: self.assumptions(size_bytes, None),
        }
    }

    /// The costs of a load of that size in this number of pieces. The time after the streams then grows with the number
    /// of pieces, and not with the text.
    fn cut_into(&self, pieces: f64, size_bytes: f64) -> CostsFound {
        let pieces_now = self.text_bytes.max(1.0) / self.piece_bytes.max(1.0);
        let times_text = size_bytes / self.text_bytes.max(1.0);
        CostsFound {
            piece_bytes: size_bytes / pieces.max(1.0),
            after_s: self.after_s * (pieces / pieces_now) / times_text,
            ..self.clone()
        }
    }

    /// The fewest streams with which a load takes at most 1 % longer than with more streams.
    fn useful_streams(&self, size_bytes: f64, with: &Resources) -> usize {
        let (best_s, _) = self.time(size_bytes, STREAMS_MAX, with);
        fewest(|streams| self.time(size_bytes, streams, with).0 <= best_s * 1.01)
            .unwrap_or(STREAMS_MAX)
    }

    /// Seconds of a load, and what limits it.
    fn time(&self, size_bytes: f64, streams: usize, with: &Resources) -> (f64, String) {
        let (cap, what) = self
            .caps(with)
            .into_iter()
            .min_by(|one, other| one.0.total_cmp(&other.0))
            .unwrap_or((f64::MAX, ""));
        let of_streams = self.stream_bytes_s * streams as f64;
        let load_s = self.simulate(size_bytes, streams, of_streams.min(cap));
        let times = size_bytes / self.text_bytes.max(1.0);
        let limit = match cap < of_streams {
            true => what.to_owned(),
            false => format!("the speed of {}", counted(streams as u64, "stream")),
        };
        (self.before_s + load_s + self.after_s * times, limit)
    }

    /// Seconds until the last of the streams ends.
    fn simulate(&self, size_bytes: f64, streams: usize, all_bytes_s: f64) -> f64 {
        let wanted = (size_bytes / self.piece_bytes.max(1.0)).ceil().max(1.0);
        let count = wanted.min(PIECES_MAX);
        // Joined pieces take the time beside rows of all of them.
        let together = wanted / count;
        let piece = WorkPiece {
            flow: 0,
            text_bytes: size_bytes / count,
            beside: Beside {
                server_s: (self.beside_s - self.flush_s).max(0.0) * together,
                flush_s: self.flush_s * together,
            },
        };
        let speed = Speed {
            one: self.stream_bytes_s.min(all_bytes_s),
            all: all_bytes_s,
        };
        let pieces = vec![piece; count as usize];
        model::schedule(&pieces, &[speed], streams).load_s
    }

    /// The capacity of each resource in bytes of text per second, with its name.
    fn caps(&self, with: &Resources) -> Vec<(f64, &'static str)> {
        let loader_s = self.loader_cpu_s_per_gb / 1e9;
        let server_s = self.server_cpu_s_per_gb.map(|seconds| seconds / 1e9);
        let written = self.written_per_text();
        let caps = [
            (
                with.shared_cores,
                Some(loader_s + server_s.unwrap_or(0.0)),
                "the cores that loader and server share",
            ),
            (with.loader_cores, Some(loader_s), "the loader's cores"),
            (with.server_cores, server_s, "the server's cores"),
            (with.network_bytes_s, self.sent_per_text, "the network"),
            (
                with.disk_write_bytes_s,
                Some(written),
                "what the server's disk writes",
            ),
            (
                with.disk_read_bytes_s,
                Some(self.read_per_text),
                "what the disk of the files reads",
            ),
        ];
        caps.into_iter()
            .filter_map(|(have, cost, what)| {
                let (have, cost) = (have?, cost.filter(|cost| *cost > 0.0)?);
                Some((have / cost, what))
            })
            .collect()
    }

    fn written_per_text(&self) -> f64 {
        self.table_per_text + self.wal_per_text.unwrap_or(0.0)
    }

    fn needs(&self, size_bytes: f64, within_s: f64) -> NeedsFound {
        let unlimited = Resources::default();
        let streams = fewest(|streams| self.time(size_bytes, streams, &unlimited).0 <= within_s);
        let times = size_bytes / self.text_bytes.max(1.0);
        let load_s = within_s - self.before_s - self.after_s * times;
        let rate = size_bytes / load_s.max(1e-3);
        let here = self.caps(&self.here);
        let first = here
            .into_iter()
            .min_by(|one, other| one.0.total_cmp(&other.0));
        let first_limit = match (streams, first) {
            (None, _) => format!(
                "the time of one piece ({:.1} MB of text at the speed of a stream, and {:.2} s beside its rows), and the time before and after the streams: no number of streams is enough",
                self.piece_bytes / 1e6,
                self.beside_s
            ),
            (_, Some((cap, what))) if cap < rate => format!(
                "{what}: they carry {:.0} MB/s of text here, and {:.0} MB/s are needed",
                cap / 1e6,
                rate / 1e6
            ),
            _ => "none: what this machine has is enough".to_owned(),
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

    fn assumptions(&self, size_bytes: f64, pieces: Option<f64>) -> Vec<String> {
        let (cut, after) = match pieces {
            None => (
                format!(
                    "the files are cut into pieces as now: {:.0} of {:.1} MB of text",
                    (size_bytes / self.piece_bytes.max(1.0)).ceil(),
                    self.piece_bytes / 1e6
                ),
                "the switch and ANALYZE take as much longer as there is more text",
            ),
            Some(pieces) => (
                format!(
                    "there are {pieces:.0} pieces of {:.1} MB of text, where here they had {:.1} MB",
                    size_bytes / pieces.max(1.0) / 1e6,
                    self.piece_bytes / 1e6
                ),
                "the switch takes as much longer as there are more pieces",
            ),
        };
        let mut found = vec![
            "CPU, WAL, and bytes that are read, written and sent grow linearly with the text"
                .to_owned(),
            format!(
                "{cut}, and each needs {:.2} s beside its rows",
                self.beside_s
            ),
            format!(
                "each stream is as fast as one stream alone was here ({:.1} MB/s of text) until a resource is used up",
                self.stream_bytes_s / 1e6
            ),
            "a core of another machine is as fast as one here".to_owned(),
            after.to_owned(),
            format!(
                "not measured: more than {} streams at a time, their locks and memory bandwidth, indexes that no longer fit into memory, checkpoints",
                self.streams
            ),
        ];
        if self.server_cpu_s_per_gb.is_none() {
            found.push(
                "not measured: the server's CPU, because its processes are not on this machine"
                    .to_owned(),
            );
        }
        if self.wal_per_text.is_none() {
            found.push("not measured: the server's WAL".to_owned());
        }
        found
    }
}

/// The smallest number of streams for which `holds` is true. If it is true for a number, it is true for all larger
/// ones.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// One stream loads 100 MB/s; a gigabyte costs 5 CPU seconds of the loader and 8 of the server.
    fn costs() -> CostsFound {
        CostsFound {
            loader_cpu_s_per_gb: 5.0,
            server_cpu_s_per_gb: Some(8.0),
            read_per_text: 1.0,
            sent_per_text: Some(0.9),
            table_per_text: 1.2,
            wal_per_text: Some(0.1),
            stream_bytes_s: 100e6,
            piece_bytes: 1e9,
            beside_s: 0.1,
            flush_s: 0.02,
            before_s: 0.5,
            after_s: 0.5,
            text_bytes: 10e9,
            streams: 2,
            here: Resources {
                shared_cores: Some(2.0),
                ..Resources::default()
            },
        }
    }

    fn asked(wish: CapacityWish) -> CapacityFound {
        costs().capacity(&wish)
    }

    #[test]
    fn a_terabyte_in_30_minutes_needs_what_its_costs_say() {
        let found = asked(CapacityWish {
            size_bytes: Some(1e12),
            within_s: Some(1800.0),
            ..CapacityWish::default()
        });
        let needs = found.needs.clone().expect("a time was asked for");
        // 1 TB in 1,749.5 s are 571.6 MB/s.
        assert!((needs.loader_cores - 2.858).abs() < 0.01, "{needs:?}");
        assert!((needs.server_cores.expect("measured") - 4.573).abs() < 0.01);
        assert!((needs.disk_write_bytes_s / 743e6 - 1.0).abs() < 0.01);
        assert_eq!(needs.wal_bytes, Some(1e11));
        assert!(
            (6..=7).contains(&needs.streams.expect("some are enough")),
            "{needs:?}"
        );
        assert!(
            needs
                .first_limit
                .starts_with("the cores that loader and server share")
        );
        // Here two cores carry 2 / 13 GB in a second.
        assert!(
            (found.predicted_s / (1e12 * 13e-9 / 2.0) - 1.0).abs() < 0.04,
            "{found:?}"
        );
    }

    #[test]
    fn other_resources_give_another_time_and_another_limit() {
        let with = |what_if: Resources| {
            asked(CapacityWish {
                size_bytes: Some(1e12),
                what_if: Some(what_if),
                ..CapacityWish::default()
            })
        };
        let cores = Resources {
            loader_cores: Some(8.0),
            server_cores: Some(16.0),
            ..Resources::default()
        };
        let fast = with(cores);
        assert_eq!(fast.limit, "the loader's cores");
        assert!(fast.predicted_s < 750.0, "{fast:?}");
        let slow = with(Resources {
            network_bytes_s: Some(1.25e8),
            ..cores
        });
        assert_eq!(slow.limit, "the network");
        // 1 Gbit/s carries 139 MB/s of this text.
        assert!((slow.predicted_s / 7250.0 - 1.0).abs() < 0.02, "{slow:?}");
        let one = asked(CapacityWish {
            size_bytes: Some(1e11),
            what_if: Some(cores),
            streams: Some(1),
            ..CapacityWish::default()
        });
        assert_eq!(one.limit, "the speed of 1 stream");
        assert!((one.predicted_s / 1015.0 - 1.0).abs() < 0.02, "{one:?}");
    }

    #[test]
    fn fewer_and_larger_pieces_need_less_beside_their_rows() {
        let cores = Resources {
            loader_cores: Some(1e3),
            server_cores: Some(1e3),
            ..Resources::default()
        };
        let pieces = |pieces| {
            asked(CapacityWish {
                size_bytes: Some(1e12),
                what_if: Some(cores),
                streams: Some(10),
                pieces,
                ..CapacityWish::default()
            })
        };
        // 1,000 pieces as in the preflight, 100 for each stream: 1,000 s of rows; for each piece 0.08 s beside them and
        // 10 flushes of 0.02 s at the same time, together 28 s; 0.5 s before, and a switch of 100 times the text, 50 s.
        let now = pieces(None);
        assert!((now.predicted_s - 1078.5).abs() < 1.0, "{now:?}");
        // 10 pieces are as many as in the preflight, and so is the switch: 1,000 + 0.28 + 0.5 + 0.5 s.
        let ten = pieces(Some(10.0));
        assert!((ten.predicted_s - 1001.28).abs() < 0.1, "{ten:?}");
        assert!(
            ten.assumptions
                .iter()
                .any(|one| one.starts_with("there are 10 pieces of 100000.0 MB")),
            "{ten:?}"
        );
    }

    #[test]
    fn a_time_that_no_machine_reaches_is_told() {
        let found = asked(CapacityWish {
            size_bytes: Some(1e12),
            within_s: Some(10.0),
            ..CapacityWish::default()
        });
        let needs = found.needs.expect("asked for");
        assert_eq!(needs.streams, None);
        assert!(
            needs.first_limit.contains("no number of streams"),
            "{needs:?}"
        );
    }
}
