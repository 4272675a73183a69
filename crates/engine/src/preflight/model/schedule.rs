//! The time of a load whose pieces of work are assigned to streams, the largest first.

/// The speed of a flow's rows, in bytes of text a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// The speed of one stream alone.
    pub one: f64,
    /// The speed of all streams together, when all of them load at once.
    pub all: f64,
}

impl Speed {
    /// The speed of one stream while this number of streams is busy. Between one stream and all streams nothing was
    /// measured: streams are assumed not to slow each other down until they reach the measured speed of all together.
    fn of_each(&self, busy: usize, streams: usize) -> f64 {
        let busy = busy.max(1);
        let together = if self.all >= self.one {
            (self.one * busy as f64).min(self.all)
        } else {
            let share = (busy - 1) as f64 / (streams.max(2) - 1) as f64;
            self.one + (self.all - self.one) * share
        };
        together / busy as f64
    }
}

/// A piece of work of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkPiece {
    /// The index of the flow whose speed it has.
    pub flow: usize,
    /// Its text.
    pub text_bytes: f64,
    /// Seconds that it takes in addition to its rows, by kind.
    pub beside: Beside,
}

impl WorkPiece {
    fn is_flushed_now(&self) -> bool {
        self.text_bytes <= 0.0 && self.beside.server_s <= 0.0
    }

    fn is_over(&self) -> bool {
        self.text_bytes <= 0.0 && self.beside.total() <= 0.0
    }
}

/// Seconds that a piece of work takes in addition to its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Creating the table, counting, indexes, statistics, and their round trips.
    pub server_s: f64,
    /// Seconds until the server has flushed its writes, at COMMIT, if nothing else is flushed at that time.
    pub flush_s: f64,
}

impl Beside {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.server_s + self.flush_s
    }
}

/// The distribution of the pieces over the streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Seconds until the last stream ends.
    pub load_s: f64,
    /// Seconds that each stream is busy.
    pub busy_s: Vec<f64>,
    /// Seconds that all streams spend on rows.
    pub rows_s: f64,
    /// Seconds that all streams spend in addition to those on rows.
    pub beside: Beside,
}

impl Schedule {
    /// The share of the streams' time in which they are idle.
    pub fn idle_share(&self) -> f64 {
        let whole = self.load_s * self.busy_s.len() as f64;
        let busy: f64 = self.busy_s.iter().sum();
        match whole > 0.0 {
            true => (1.0 - busy / whole).max(0.0),
            false => 0.0,
        }
    }
}

/// Gives each stream the next piece when it has finished one. Flushes at the same time share the disk.
pub fn schedule(pieces: &[WorkPiece], speeds: &[Speed], streams: usize) -> Schedule {
    let streams = streams.max(1);
    let mut next = pieces.iter().copied();
    let mut hands: Vec<Option<WorkPiece>> = (0..streams).map(|_| next.next()).collect();
    let mut found = Schedule {
        busy_s: vec![0.0; streams],
        ..Schedule::default()
    };
    loop {
        let busy = hands.iter().flatten().count();
        if busy == 0 {
            return found;
        }
        let flushing = hands
            .iter()
            .flatten()
            .filter(|piece| piece.is_flushed_now());
        let flushing = flushing.count();
        // A stream that waits for the disk leaves its core to the others.
        let at_work = busy - flushing;
        let flushing = flushing.max(1) as f64;
        // The remainder of the present phase of a piece, and the part of it that is completed in a second.
        let phase = |piece: &WorkPiece| {
            if piece.text_bytes > 0.0 {
                let speed = speeds[piece.flow].of_each(at_work, streams).max(1.0);
                (piece.text_bytes, speed)
            } else if piece.beside.server_s > 0.0 {
                (piece.beside.server_s, 1.0)
            } else {
                (piece.beside.flush_s, 1.0 / flushing)
            }
        };
        let left_s = |piece: &WorkPiece| {
            let (left, in_a_second) = phase(piece);
            left / in_a_second
        };
        let step_s = hands.iter().flatten().map(left_s).fold(f64::MAX, f64::min);
        found.load_s += step_s;
        let steps: Vec<Option<(f64, bool)>> = hands
            .iter()
            .map(|hand| {
                let (left, in_a_second) = phase(hand.as_ref()?);
                let is_done = left / in_a_second <= step_s * (1.0 + 1e-9);
                Some(match is_done {
                    true => (0.0, true),
                    false => (left - in_a_second * step_s, false),
                })
            })
            .collect();
        for ((hand, busy_s), step) in hands.iter_mut().zip(&mut found.busy_s).zip(steps) {
            let (Some(piece), Some((left, is_done))) = (hand.as_mut(), step) else {
                continue;
            };
            *busy_s += step_s;
            if piece.text_bytes > 0.0 {
                found.rows_s += step_s;
                piece.text_bytes = left;
            } else if piece.beside.server_s > 0.0 {
                found.beside.server_s += step_s;
                piece.beside.server_s = left;
            } else {
                found.beside.flush_s += step_s;
                piece.beside.flush_s = left;
            }
            if is_done && piece.is_over() {
                *hand = next.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    fn piece(text_bytes: f64, server_s: f64) -> WorkPiece {
        WorkPiece {
            flow: 0,
            text_bytes,
            beside: Beside {
                server_s,
                flush_s: 0.0,
            },
        }
    }

    fn load_s(pieces: &[WorkPiece], speed: Speed, streams: usize) -> f64 {
        schedule(pieces, &[speed], streams).load_s
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-6,
            "{found} and not {expected}"
        );
    }

    #[test]
    fn one_stream_does_one_piece_after_the_other() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 100.0 * MB,
        };
        let pieces = [piece(200.0 * MB, 0.5), piece(100.0 * MB, 0.5)];
        assert_close(load_s(&pieces, speed, 1), 4.0);
        let found = schedule(&pieces, &[speed], 1);
        assert_close(found.rows_s, 3.0);
        assert_close(found.beside.server_s, 1.0);
        assert_close(found.idle_share(), 0.0);
    }

    #[test]
    fn all_streams_together_are_as_fast_as_they_were_measured() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 160.0 * MB,
        };
        let pieces = [piece(80.0 * MB, 0.0); 4];
        assert_close(load_s(&pieces, speed, 4), 2.0);
        // Two of the four streams are as fast as all four together, because one alone reaches 100.
        assert_close(load_s(&pieces[..2], speed, 4), 1.0);
        assert_close(load_s(&pieces[..1], speed, 4), 0.8);
    }

    #[test]
    fn streams_that_disturb_each_other_are_slower_together() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 50.0 * MB,
        };
        assert_close(load_s(&[piece(50.0 * MB, 0.0); 2], speed, 2), 2.0);
        assert_close(load_s(&[piece(50.0 * MB, 0.0)], speed, 2), 0.5);
        // Three streams, two of them busy: between 100 and 50.
        assert_close(load_s(&[piece(75.0 * MB, 0.0); 2], speed, 3), 2.0);
    }

    #[test]
    fn a_long_last_piece_leaves_the_others_idle() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 200.0 * MB,
        };
        let pieces = [piece(100.0 * MB, 0.0); 3];
        let found = schedule(&pieces, &[speed], 2);
        assert_close(found.load_s, 2.0);
        assert_close(found.idle_share(), 0.25);
        assert_eq!(found.busy_s.len(), 2);
    }

    #[test]
    fn what_is_flushed_at_the_same_time_shares_the_disk() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 200.0 * MB,
        };
        let flushed = WorkPiece {
            beside: Beside {
                server_s: 0.0,
                flush_s: 1.0,
            },
            ..piece(100.0 * MB, 0.0)
        };
        // One after the other: rows, flush, rows, flush.
        assert_close(
            load_s(
                &[flushed; 2],
                Speed {
                    all: speed.one,
                    ..speed
                },
                1,
            ),
            4.0,
        );
        // Both at once: a second of rows, and two of flushing.
        let found = schedule(&[flushed; 2], &[speed], 2);
        assert_close(found.load_s, 3.0);
        assert_close(found.beside.flush_s, 4.0);
        // The rows of the second one take half as long again, so their flushes overlap only in part.
        let longer = WorkPiece {
            text_bytes: 150.0 * MB,
            ..flushed
        };
        assert_close(load_s(&[longer, flushed], speed, 2), 3.0);
    }

    #[test]
    fn a_stream_that_waits_for_the_disk_leaves_the_others_its_cores() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 100.0 * MB,
        };
        let flushed = |text_bytes| WorkPiece {
            beside: Beside {
                server_s: 0.0,
                flush_s: 1.0,
            },
            ..piece(text_bytes, 0.0)
        };
        // Both load for a second, at 50 MB/s each. Then the longer one has 150 MB left, and all the cores. Its flush
        // follows.
        let pieces = [flushed(200.0 * MB), flushed(50.0 * MB)];
        assert_close(load_s(&pieces, speed, 2), 1.0 + 1.5 + 1.0);
    }

    #[test]
    fn flows_have_speeds_of_their_own_and_empty_pieces_end_at_once() {
        let speeds = [
            Speed {
                one: 100.0 * MB,
                all: 100.0 * MB,
            },
            Speed {
                one: 10.0 * MB,
                all: 10.0 * MB,
            },
        ];
        let slow = WorkPiece {
            flow: 1,
            ..piece(10.0 * MB, 0.25)
        };
        let pieces = [piece(100.0 * MB, 0.0), slow, piece(0.0, 0.0)];
        assert_close(schedule(&pieces, &speeds, 1).load_s, 2.25);
        assert_close(schedule(&[], &speeds, 3).load_s, 0.0);
        assert_close(schedule(&[piece(0.0, 0.0)], &speeds, 3).load_s, 0.0);
    }
}
