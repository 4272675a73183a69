//! The measurements of a flow, and estimates from its sample.

use std::collections::BTreeMap;

use inrush_source::{Source, Split};

use super::decode::Decoded;
use super::sample::{self, Portion, is_in_database};
use super::sample_batches::DatabaseWork;
use super::source_read::SourceRead;
use super::throughput::Throughput;
use super::together::Together;
use crate::error::Error;

/// The most flows that are measured.
const FLOWS_MAX: usize = 4;

/// A database is slow if it sends fewer chunks (of the size of a run) than this in a second.
const CHUNKS_A_SECOND: f64 = 4.0;
/// Bytes of a chunk from a slow database, small enough for several chunks in a second.
pub const CHUNK_BYTES_SLOW: usize = 64 << 10;

/// The assumed bytes of a row of unknown length; only the order of flows depends on it.
const ROW_BYTES_GUESS: f64 = 100.0;

/// The measurements of a flow.
#[derive(Default)]
pub struct FlowFound {
    /// The flow, by its index in the plan.
    pub index: usize,
    /// Bytes of its files and tables that are left to load, as stored.
    pub stored_bytes: f64,
    /// True if the flow's rows come from a database.
    pub is_of_database: bool,
    /// The estimated rows of inputs whose size is unknown, such as queries, by their index.
    pub estimated_rows: BTreeMap<usize, u64>,
    /// Inputs whose size and number of rows are both unknown before they are read.
    pub of_unknown_size: Vec<String>,
    /// True if each of the flow's files has one reader, which feeds all streams.
    pub is_fed: bool,
    /// Bytes that `rate_bytes_max` counts for each byte of text.
    pub paced_of_text: f64,
    /// The measured units, each with its sample. If one sample serves all units, it is the only entry and has no unit.
    pub works: Vec<(Option<usize>, Vec<Portion>)>,
    /// The measurement of reading alone, if the flow's rows come from a database.
    pub source: Option<SourceRead>,
    /// The measurement of the loader with one thread.
    pub decoded: Option<Decoded>,
    /// The measurement of the loader with as many threads as there are streams.
    pub decoded_all: Option<Decoded>,
    /// The measurement of the destination with one connection.
    pub destination: Option<Throughput>,
    /// The measurement of the destination with all connections.
    pub destination_all: Option<Throughput>,
    /// The measurement of all steps together with one stream.
    pub together: Option<Together>,
    /// The measurement of all steps together with all streams.
    pub together_all: Option<Together>,
}

impl FlowFound {
    /// Describes a flow before it is measured, and chooses its sample. `None` if nothing is left to load. `left` are
    /// the splits that are left to load, and `stored_bytes` is their size. `works` are the pieces of work that are
    /// measured, each with its splits.
    pub fn of<'s>(
        index: usize,
        source: &dyn Source,
        stored_bytes: f64,
        left: impl Iterator<Item = &'s Split>,
        works: Vec<(Option<usize>, Vec<Split>)>,
        streams: usize,
    ) -> Result<Option<FlowFound>, Error> {
        let mut found = FlowFound {
            index,
            stored_bytes,
            is_of_database: source.input_count() > 0 && is_in_database(&*source.input(0)),
            is_fed: works.iter().flat_map(|(_, own)| own).any(|it| it.is_shared),
            ..FlowFound::default()
        };
        for split in left {
            let input = &split.input;
            let is_known = found.estimated_rows.contains_key(&input.index());
            if split.size_bytes > 0 || is_known || !is_in_database(&**input) {
                continue;
            }
            match source.estimated_rows(input.index())? {
                Some(rows) => {
                    found.estimated_rows.insert(input.index(), rows);
                }
                None => found
                    .of_unknown_size
                    .push(input.name().display().to_string()),
            }
        }
        let has_more = !found.estimated_rows.is_empty() || !found.of_unknown_size.is_empty();
        if stored_bytes == 0.0 && !has_more {
            return Ok(None);
        }
        let (units, splits): (Vec<Option<usize>>, Vec<Vec<Split>>) = works.into_iter().unzip();
        let portions = sample::portions(source, &splits, streams)?;
        found.works = units.into_iter().zip(portions).collect();
        Ok(Some(found))
    }

    /// An estimate of the flow's size before anything is read.
    fn size_guess(&self) -> f64 {
        let rows: u64 = self.estimated_rows.values().sum();
        self.stored_bytes + rows as f64 * ROW_BYTES_GUESS
    }

    /// Bytes of a chunk: as in a run, or fewer if a slow database would need long for one of them.
    pub fn chunk_bytes(&self, of_run: usize) -> usize {
        let speed = self.source.as_ref().map(|read| read.one.text_bytes_s);
        match speed {
            Some(speed) if speed < CHUNKS_A_SECOND * of_run as f64 => of_run.min(CHUNK_BYTES_SLOW),
            _ => of_run,
        }
    }

    /// The sample, ordered so that portions of different units alternate.
    pub fn spread(&self) -> Vec<Portion> {
        let longest = self.works.iter().map(|(_, portions)| portions.len()).max();
        let rounds = 0..longest.unwrap_or(0);
        rounds
            .flat_map(|index| {
                let own = self.works.iter();
                own.filter_map(move |(_, portions)| portions.get(index).cloned())
            })
            .collect()
    }

    fn ratio(&self, part: fn(&Decoded) -> f64, whole: fn(&Decoded) -> f64) -> Option<f64> {
        let decoded = self.decoded.as_ref()?;
        let whole = whole(decoded);
        (whole > 0.0).then(|| part(decoded) / whole)
    }

    /// A figure per stored byte, from the portions of tables that were read to their end.
    fn of_stored_table(&self, part: fn(&DatabaseWork) -> u64) -> Option<f64> {
        let work = &self.decoded.as_ref()?.work.of_database;
        (work.stored_bytes > 0).then(|| part(work) as f64 / work.stored_bytes as f64)
    }

    /// Bytes of text for each stored byte.
    pub fn text_of_stored(&self) -> f64 {
        let ratio = match self.is_of_database {
            true => self.of_stored_table(|work| work.text_bytes),
            false => self.ratio(Decoded::text_bytes, |decoded| {
                decoded.work.meter.stored_bytes as f64
            }),
        };
        ratio.unwrap_or(1.0)
    }

    /// Rows for each stored byte.
    pub fn rows_of_stored(&self) -> f64 {
        let rows = |decoded: &Decoded| decoded.work.rows_read as f64;
        let ratio = match self.is_of_database {
            true => self.of_stored_table(|work| work.rows),
            false => self.ratio(rows, |decoded| decoded.work.meter.stored_bytes as f64),
        };
        let of_text = || match self.text_of_row() {
            text if text > 0.0 && self.is_of_database => self.text_of_stored() / text,
            _ => 0.0,
        };
        ratio.unwrap_or_else(of_text)
    }

    /// Bytes of text for each row; 0 if no row was read.
    fn text_of_row(&self) -> f64 {
        let rows = |decoded: &Decoded| decoded.work.rows_read as f64;
        self.ratio(Decoded::text_bytes, rows).unwrap_or(0.0)
    }

    /// Bytes of text of a split.
    pub fn text_bytes_of(&self, split: &Split) -> f64 {
        match self.estimated_rows.get(&split.input.index()) {
            Some(rows) if split.size_bytes == 0 => *rows as f64 * self.text_of_row(),
            _ => split.size_bytes as f64 * self.text_of_stored(),
        }
    }

    /// Rows of a split.
    pub fn rows_of(&self, split: &Split) -> f64 {
        match self.estimated_rows.get(&split.input.index()) {
            Some(rows) if split.size_bytes == 0 => *rows as f64,
            _ => split.size_bytes as f64 * self.rows_of_stored(),
        }
    }

    /// Bytes of text for each byte that is sent.
    pub fn text_of_sent(&self) -> f64 {
        self.ratio(
            |decoded| decoded.encoded.text_bytes as f64,
            |decoded| decoded.encoded.bytes as f64,
        )
        .unwrap_or(1.0)
    }

    /// Bytes of text that one core scans in a second.
    pub fn scan_bytes_s(&self) -> Option<f64> {
        self.ratio(Decoded::text_bytes, |decoded| {
            decoded.work.meter.scan_ns as f64 / 1e9
        })
    }

    /// True if all steps together were measured, with rows.
    pub fn has_speed(&self) -> bool {
        let all = self.together_all.as_ref();
        all.is_some_and(|all| all.text_bytes_s > 0.0 && all.work.rows_read > 0)
    }

    /// Rows that are left to load.
    pub fn rows_left(&self) -> f64 {
        let rows: u64 = self.estimated_rows.values().sum();
        self.stored_bytes * self.rows_of_stored() + rows as f64
    }

    /// Bytes of text that are left to load.
    pub fn text_bytes_left(&self) -> f64 {
        let rows: u64 = self.estimated_rows.values().sum();
        self.stored_bytes * self.text_of_stored() + rows as f64 * self.text_of_row()
    }
}

/// The largest flows, which are measured. The others are assumed to be like them.
pub fn largest(mut flows: Vec<FlowFound>) -> Vec<FlowFound> {
    flows.sort_by(|a, b| b.size_guess().total_cmp(&a.size_guess()));
    flows.truncate(FLOWS_MAX);
    flows
}

/// The measured flow with this index, or else the largest measured flow.
pub fn like(flows: &[FlowFound], index: usize) -> Option<&FlowFound> {
    let mut own = flows.iter().filter(|flow| flow.index == index);
    own.next().or(flows.first())
}

/// All portions of all flows.
pub fn portions(flows: &[FlowFound]) -> impl Iterator<Item = &Portion> {
    let works = flows.iter().flat_map(|flow| &flow.works);
    works.flat_map(|(_, portions)| portions)
}

/// Keeps the portions of files that were read, in the order in which [`portions`] lists them. If the time was too short
/// to read any portion of a flow, all are kept: the later steps read them themselves. Portions of databases are always
/// kept.
pub fn keep_read(flows: &mut [FlowFound], is_read: &[bool]) {
    let mut flags = is_read.iter().copied();
    for (_, portions) in flows.iter_mut().flat_map(|flow| &mut flow.works) {
        let files = portions.iter().filter(|it| !it.is_of_database()).count();
        let own: Vec<bool> = flags.by_ref().take(files).collect();
        if own.contains(&true) {
            let mut own = own.into_iter();
            portions.retain(|it| it.is_of_database() || own.next().unwrap_or(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;
    use crate::preflight::sample_batches::SampleWork;
    use inrush_plan::reading::test_source::{TestInput, TestSource};

    fn flow(input: TestInput) -> Option<(FlowFound, Split)> {
        let source = TestSource::new(input);
        let split = Split::of(source.input(0), source.whole(0));
        let works = vec![(Some(0), vec![split.clone()])];
        let left = std::iter::once(&split);
        let stored_bytes = split.size_bytes as f64;
        let found = FlowFound::of(0, &source, stored_bytes, left, works, 2);
        Some((found.expect("no error")?, split))
    }

    /// 1,000 bytes of text in 10 rows. Of these, 800 bytes in 8 rows come from 400 stored bytes that were read to their
    /// end.
    fn decoded() -> Decoded {
        Decoded {
            work: SampleWork {
                meter: Meter {
                    text_bytes: 1_000,
                    stored_bytes: 500,
                    ..Meter::default()
                },
                rows_read: 10,
                of_database: DatabaseWork {
                    stored_bytes: 400,
                    text_bytes: 800,
                    rows: 8,
                    ..DatabaseWork::default()
                },
                ..SampleWork::default()
            },
            ..Decoded::default()
        }
    }

    #[test]
    fn a_table_is_as_large_as_its_whole_portions_tell() {
        let (mut found, split) = flow(TestInput::table("t", 4_000)).expect("work");
        assert!(found.is_of_database && found.works[0].1[0].is_of_database());
        // Nothing was read so far.
        assert_eq!(
            (found.text_bytes_of(&split), found.rows_of(&split)),
            (4_000.0, 0.0)
        );
        found.decoded = Some(decoded());
        assert_eq!(
            (found.text_bytes_of(&split), found.rows_of(&split)),
            (8_000.0, 80.0)
        );
        assert_eq!(
            (found.text_bytes_left(), found.rows_left()),
            (8_000.0, 80.0)
        );
    }

    #[test]
    fn a_query_has_as_many_rows_as_its_source_estimates() {
        let (mut found, split) = flow(TestInput::table("the query", 0)).expect("work");
        assert_eq!(found.of_unknown_size, ["the query"]);
        assert_eq!(found.text_bytes_left(), 0.0);
        found.estimated_rows.insert(0, 50);
        found.decoded = Some(decoded());
        assert_eq!(
            (found.text_bytes_of(&split), found.rows_of(&split)),
            (5_000.0, 50.0)
        );
        assert_eq!(
            (found.text_bytes_left(), found.rows_left()),
            (5_000.0, 50.0)
        );
        assert!(flow(TestInput::new("empty.csv", 0)).is_none());
    }

    #[test]
    fn a_slow_database_is_read_in_small_chunks() {
        let (mut found, _) = flow(TestInput::table("t", 4_000)).expect("work");
        assert_eq!(found.chunk_bytes(512 << 10), 512 << 10);
        for (text_bytes_s, expected) in [(1e6, CHUNK_BYTES_SLOW), (1e9, 512 << 10)] {
            let mut source = SourceRead::default();
            source.one.text_bytes_s = text_bytes_s;
            found.source = Some(source);
            assert_eq!(found.chunk_bytes(512 << 10), expected);
        }
    }
}
