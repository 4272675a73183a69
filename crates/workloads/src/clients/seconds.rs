//! Collects the latencies of the workers second by second, for the standard log of HdrHistogram and for the whole run.
//!
//! Each worker measures by itself and sends the measurements of a second when it is over, so the loop of calls shares
//! no data. A second is complete when all workers have sent it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::client::{Latencies, latencies};
use super::results::LatencyResult;
use super::worker::SecondPart;

/// The number of seconds whose latencies are kept separately, to find the end of the warm-up.
pub const WARM_UP_MAX_S: usize = 120;

/// Latencies of the whole run.
#[derive(Default)]
pub struct Gathered {
    /// The latencies of each second, in order.
    pub seconds: Vec<LatencyResult>,
    /// The latencies of the first seconds, separately for each second.
    first: Vec<(Latencies, Option<Latencies>)>,
    /// The latencies of all later seconds together.
    rest: Option<(Latencies, Option<Latencies>)>,
}

impl Gathered {
    /// All latencies from a second on; in an open loop also the latencies that begin when a call is sent.
    pub fn since_second(&self, second: usize) -> (Latencies, Option<Latencies>) {
        let mut all = (latencies(), None);
        for part in self.first.iter().skip(second).chain(&self.rest) {
            add_both(&mut all, part);
        }
        all
    }

    fn push(&mut self, part: (Latencies, Option<Latencies>)) {
        self.seconds.push(LatencyResult::of(&part.0));
        if self.first.len() < WARM_UP_MAX_S {
            self.first.push(part);
        } else {
            let rest = self.rest.get_or_insert_with(|| (latencies(), None));
            add_both(rest, &part);
        }
    }
}

fn add_both(sum: &mut (Latencies, Option<Latencies>), part: &(Latencies, Option<Latencies>)) {
    add(&mut sum.0, &part.0);
    if let Some(naive) = &part.1 {
        add(sum.1.get_or_insert_with(latencies), naive);
    }
}

/// Adds latencies to others.
pub fn add(sum: &mut Latencies, part: &Latencies) {
    // The histogram resizes itself, so this cannot fail.
    let _ = sum.add(part);
}

/// Receives the seconds of this number of workers until all of them have ended, and writes each second into a log.
pub fn gather(
    parts: &Receiver<SecondPart>,
    workers: usize,
    log: &Path,
    comment: &str,
) -> io::Result<Gathered> {
    let file = BufWriter::new(File::create(log)?);
    let mut file = LostIfFull { file, lost: None };
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(comment)
        .add_comment("latencies in nanoseconds; the column of maxima is in milliseconds")
        .with_max_value_divisor(1e6)
        .with_start_time(SystemTime::now());
    let begun = builder.begin_log_with(&mut file, &mut serializer);
    let mut writer = begun.map_err(io::Error::other)?;
    let mut gathered = Gathered::default();
    let mut present: BTreeMap<u32, (Latencies, Option<Latencies>)> = BTreeMap::new();
    // For each worker, the second before which it has sent everything; `None` until it has sent a part.
    let mut reached: Vec<Option<u32>> = vec![None; workers];
    let mut next = 0;
    let mut finish = |upto: u32, present: &mut BTreeMap<u32, _>| -> io::Result<()> {
        while next < upto {
            let part = present.remove(&next).unwrap_or_else(|| (latencies(), None));
            let start = Duration::from_secs(u64::from(next));
            let written = writer.write_histogram(&part.0, start, Duration::from_secs(1), None);
            written.map_err(|error| io::Error::other(format!("{error:?}")))?;
            gathered.push(part);
            next += 1;
        }
        Ok(())
    };
    while let Ok(part) = parts.recv() {
        let own = (part.latencies, part.naive);
        match present.get_mut(&part.second) {
            Some(sum) => add_both(sum, &own),
            None => {
                present.insert(part.second, own);
            }
        }
        if let Some(second) = reached.get_mut(part.worker) {
            *second = Some(part.second);
        }
        if let Some(all) = reached.iter().copied().min().flatten() {
            // A worker may send another part of this second at its end.
            finish(all, &mut present)?;
        }
    }
    let end = present.last_key_value().map_or(0, |(second, _)| second + 1);
    finish(end, &mut present)?;
    file.finish()?;
    Ok(gathered)
}

/// Writes one histogram of the whole run for each client, tagged with the number of the client.
pub fn write_clients<'a>(
    log: &Path,
    comment: &str,
    took: Duration,
    clients: impl Iterator<Item = (usize, &'a Latencies)>,
) -> io::Result<()> {
    let file = BufWriter::new(File::create(log)?);
    let mut file = LostIfFull { file, lost: None };
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(comment)
        .add_comment(
            "latencies in nanoseconds of each client over the whole run, tagged by its number",
        )
        .with_max_value_divisor(1e6)
        .with_start_time(SystemTime::now());
    let begun = builder.begin_log_with(&mut file, &mut serializer);
    let mut writer = begun.map_err(io::Error::other)?;
    for (number, histogram) in clients {
        let name = format!("client-{number}");
        let written = writer.write_histogram(histogram, Duration::ZERO, took, Tag::new(&name));
        written.map_err(|error| io::Error::other(format!("{error:?}")))?;
    }
    file.finish()
}

/// A file that keeps its first error until the end, because the writer of logs would lose it.
struct LostIfFull {
    file: BufWriter<File>,
    lost: Option<io::Error>,
}

impl LostIfFull {
    fn finish(mut self) -> io::Result<()> {
        match self.lost.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }
}

impl Write for LostIfFull {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.file.write_all(bytes) {
            self.lost.get_or_insert(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::clients::client::record;

    #[test]
    fn seconds_are_whole_and_the_log_can_be_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.hlog");
        let (sender, receiver) = channel();
        let part = |worker, second, values: &[u64]| {
            let mut own = latencies();
            for value in values {
                record(&mut own, Duration::from_micros(*value));
            }
            SecondPart {
                worker,
                second,
                latencies: own,
                naive: None,
            }
        };
        for one in [
            part(0, 0, &[10, 20]),
            part(0, 1, &[30]),
            part(1, 0, &[1000]),
            // This worker sent nothing in second 1.
            part(1, 2, &[40]),
            part(0, 1, &[]),
        ] {
            sender.send(one).expect("somebody takes it");
        }
        drop(sender);
        let gathered = gather(&receiver, 2, &path, "test").expect("written");
        let counts: Vec<u64> = gathered.seconds.iter().map(|second| second.count).collect();
        assert_eq!(counts, [3, 1, 1]);
        assert_eq!(gathered.since_second(1).0.len(), 2);
        let text = std::fs::read(&path).expect("it is there");
        let mut deserializer = Deserializer::new();
        let mut read = Vec::new();
        for entry in IntervalLogIterator::new(&text) {
            if let LogEntry::Interval(interval) = entry.expect("it is a log") {
                let bytes = base64_decoded(interval.encoded_histogram());
                let histogram: hdrhistogram::Histogram<u64> =
                    deserializer.deserialize(&mut &bytes[..]).expect("whole");
                read.push((interval.start_timestamp().as_secs(), histogram.len()));
            }
        }
        assert_eq!(read, [(0, 3), (1, 1), (2, 1)]);
    }

    /// Standard base64, as the format requires.
    fn base64_decoded(text: &str) -> Vec<u8> {
        let value = |byte: u8| -> u32 {
            match byte {
                b'A'..=b'Z' => u32::from(byte - b'A'),
                b'a'..=b'z' => u32::from(byte - b'a') + 26,
                b'0'..=b'9' => u32::from(byte - b'0') + 52,
                b'+' => 62,
                _ => 63,
            }
        };
        let mut bytes = Vec::new();
        for four in text.trim_end_matches('=').as_bytes().chunks(4) {
            let bits = four.iter().fold(0, |bits, byte| bits << 6 | value(*byte));
            let bits = bits << (6 * (4 - four.len()));
            bytes.extend(&bits.to_be_bytes()[1..four.len()]);
        }
        bytes
    }
}
