//! Calculates the resources for a load of some size within some time, and its time with other resources. It simulates
//! the pieces of work over streams, with the costs that a preflight has measured. It does no I/O.
//!
//! Here are the costs, the questions and the answers. [`simulation`] assigns the pieces of work to streams, and
//! [`assumptions`] lists what is assumed.

mod assumptions;
mod simulation;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The costs of a load, as a preflight has measured them. Text is the uncompressed content of the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostsFound {
    /// CPU seconds of the loader for a gigabyte of text.
    pub loader_cpu_s_per_gb: f64,
    /// CPU seconds of the server for a gigabyte of text; absent if its processes were not seen.
    pub server_cpu_s_per_gb: Option<f64>,
    /// Bytes read from files for a byte of text.
    pub read_per_text: f64,
    /// The rows come from a database, which is assumed to send them as fast as they are taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_database: bool,
    /// Bytes sent to the destination for a byte of text; absent if there is no connection.
    pub sent_per_text: Option<f64>,
    /// Bytes written to tables for a byte of text.
    pub table_per_text: f64,
    /// Bytes of WAL for a byte of text; absent if they were not counted.
    pub wal_per_text: Option<f64>,
    /// Bytes of text that one stream loads in a second alone.
    pub stream_bytes_s: f64,
    /// Bytes of text that all streams of this load together load in a second; absent if they were not measured so.
    #[serde(default)]
    pub all_bytes_s: Option<f64>,
    /// Bytes of text of a piece of work, the mean.
    pub piece_bytes: f64,
    /// Seconds of a piece in addition to its rows: making its table, counting, indexes, COMMIT.
    pub beside_s: f64,
    /// The share of `beside_s`, without the flush, in which the server computes, 0 to 1; absent if it was not measured.
    #[serde(default)]
    pub beside_cpu_share: Option<f64>,
    /// The part of `beside_s` until the server has flushed its writes.
    pub flush_s: f64,
    /// Seconds before the streams begin.
    pub before_s: f64,
    /// Seconds of the switch and ANALYZE, after the last stream has ended.
    pub after_s: f64,
    /// The part of `after_s` that does not grow with the text: ANALYZE reads a sample of a table of any size.
    #[serde(default)]
    pub after_fixed_s: f64,
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
    /// Bytes per second of the network.
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
    /// The resources; `None` means those of this machine.
    pub what_if: Option<Resources>,
    /// The number of streams; `None` means as many as are useful.
    pub streams: Option<usize>,
    /// The number of pieces of work; `None` means pieces of the same size as now.
    pub pieces: Option<f64>,
}

/// The answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityFound {
    /// Bytes of text.
    pub size_bytes: f64,
    /// Seconds of a load of that size with this machine's resources, or those of `--what-if`.
    pub predicted_s: f64,
    /// The number of streams of this load.
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
    /// The requested seconds.
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
    /// Adds the costs of a server: bytes sent for a byte of text, the rate of the network, and the bytes per second
    /// that the server's disk can write.
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
            after_s: self.after_fixed_s
                + (self.after_s - self.after_fixed_s) * (pieces / pieces_now) / times_text,
            ..self.clone()
        }
    }
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
            is_of_database: false,
            sent_per_text: Some(0.9),
            table_per_text: 1.2,
            wal_per_text: Some(0.1),
            stream_bytes_s: 100e6,
            all_bytes_s: None,
            piece_bytes: 1e9,
            beside_s: 0.1,
            beside_cpu_share: None,
            flush_s: 0.02,
            before_s: 0.5,
            after_s: 0.5,
            after_fixed_s: 0.0,
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
        // 1,000 pieces of the same size as in the preflight, 100 for each stream. The rows take 1,000 s. Each piece
        // takes 0.08 s besides, and 10 flushes of 0.02 s at the same time: 28 s for 100 pieces. 0.5 s pass before the
        // streams, and the switch of 100 times the text takes 50 s.
        let now = pieces(None);
        assert!((now.predicted_s - 1078.5).abs() < 1.0, "{now:?}");
        // 10 pieces, as in the preflight, so the switch takes as long: 1,000 + 0.28 + 0.5 + 0.5 s.
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
    fn a_slower_disk_is_waited_for_at_each_commit() {
        let with = |disk: f64, streams: usize, table_per_text: f64| {
            let here = CostsFound {
                table_per_text,
                wal_per_text: Some(0.0),
                here: Resources {
                    disk_write_bytes_s: Some(1e9),
                    ..costs().here
                },
                ..costs()
            };
            let found = here.capacity(&CapacityWish {
                size_bytes: Some(20e9),
                streams: Some(streams),
                what_if: Some(Resources {
                    disk_write_bytes_s: Some(disk),
                    ..here.here
                }),
                ..CapacityWish::default()
            });
            (found.predicted_s, found.limit)
        };
        // Each of 20 pieces takes 10 s for rows, 0.08 s besides and 0.02 s for the flush. A disk with a tenth of the
        // speed flushes in 0.2 s.
        let (usual_s, limit) = with(1e9, 1, 0.02);
        assert!((usual_s - (20.0 * 10.1 + 1.5)).abs() < 0.01, "{usual_s}");
        assert_eq!(limit, "the speed of 1 stream");
        let (slower_s, _) = with(1e8, 1, 0.02);
        assert!(
            (slower_s - usual_s - 20.0 * 0.18).abs() < 0.01,
            "{slower_s}"
        );
        // The disk has to write all 26 GB, for any number of streams.
        let (bound_s, limit) = with(1e8, 8, 1.3);
        assert!((bound_s - (260.0 + 1.5)).abs() < 0.01, "{bound_s}");
        assert_eq!(limit, "the writes of the server's disk");
    }

    #[test]
    fn an_analyze_that_looks_at_a_sample_does_not_grow() {
        let after = |after_fixed_s| {
            let costs = CostsFound {
                after_fixed_s,
                ..costs()
            };
            let wish = CapacityWish {
                size_bytes: Some(100e9),
                streams: Some(1),
                ..CapacityWish::default()
            };
            costs.capacity(&wish).predicted_s
        };
        // With ten times the text, 0.5 s after the streams become 5 s if all of that time grows. If 0.4 s of it do not
        // grow, they become 1.4 s.
        assert!((after(0.0) - after(0.4) - 3.6).abs() < 1e-6);
    }

    #[test]
    fn streams_that_disturbed_each_other_here_do_so_again() {
        let predicted = |all_bytes_s: f64, shared_cores: f64, streams: usize| {
            let costs = CostsFound {
                all_bytes_s: Some(all_bytes_s),
                beside_s: 0.0,
                flush_s: 0.0,
                ..costs()
            };
            let wish = CapacityWish {
                streams: Some(streams),
                what_if: Some(Resources {
                    shared_cores: Some(shared_cores),
                    ..Resources::default()
                }),
                ..CapacityWish::default()
            };
            costs.capacity(&wish).predicted_s - 1.0
        };
        // Two streams of 100 MB/s need 13 s of CPU for a gigabyte: two cores could carry 154 MB/s, but carried 130.
        assert!((predicted(130e6, 2.0, 2) - 10e9 / 130e6).abs() < 0.01);
        assert!((predicted(130e6, 1.0, 2) - 10e9 / 65e6).abs() < 0.01);
        // With many cores the streams are the limit, and reach the same share of 200 MB/s.
        assert!((predicted(130e6, 1e3, 2) - 10e9 / (200e6 * 13.0 / 15.384_615)).abs() < 0.01);
        // Nothing disturbs one stream alone.
        assert!((predicted(130e6, 1e3, 1) - 100.0).abs() < 0.01);
    }

    #[test]
    fn sessions_that_share_a_core_count_and_index_more_slowly() {
        let predicted = |server_cores: f64, beside_cpu_share: Option<f64>| {
            let wish = CapacityWish {
                size_bytes: Some(20e9),
                streams: Some(2),
                what_if: Some(Resources {
                    server_cores: Some(server_cores),
                    loader_cores: Some(100.0),
                    ..Resources::default()
                }),
                ..CapacityWish::default()
            };
            let costs = CostsFound {
                server_cpu_s_per_gb: Some(1.0),
                beside_cpu_share,
                ..costs()
            };
            costs.capacity(&wish).predicted_s
        };
        // Each of two streams has ten pieces, and each piece takes 0.08 s besides its rows. On one shared core these
        // take twice as long.
        assert!((predicted(1.0, None) - predicted(2.0, None) - 0.8).abs() < 1e-6);
        // If three quarters of this time are CPU time, it takes one and a half times as long.
        let (one, two) = (predicted(1.0, Some(0.75)), predicted(2.0, Some(0.75)));
        assert!((one - two - 0.4).abs() < 1e-6);
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
