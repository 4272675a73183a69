//! The measurements of a flow, and estimates from its sample.

use super::decode::Decoded;
use super::sample::Portion;
use super::throughput::Throughput;
use super::together::Together;

/// The most flows that are measured.
const FLOWS_MAX: usize = 4;

/// The measurements of a flow.
#[derive(Default)]
pub struct FlowFound {
    /// The flow, by its index in the plan.
    pub index: usize,
    /// Bytes of its files that are left to load, as stored.
    pub stored_bytes: f64,
    /// Each of its files has one reader, which feeds all streams.
    pub is_fed: bool,
    /// Bytes that `rate_bytes_max` counts for each byte of text, if rows are handed over as Arrow batches.
    pub paced_of_text: f64,
    /// The units that are measured, each with its sample.
    pub works: Vec<(usize, Vec<Portion>)>,
    /// The loader, with one thread.
    pub decoded: Option<Decoded>,
    /// The loader, with as many threads as there are streams.
    pub decoded_all: Option<Decoded>,
    /// The destination, with one connection.
    pub destination: Option<Throughput>,
    /// The destination, with all connections.
    pub destination_all: Option<Throughput>,
    /// All steps together, with one stream.
    pub together: Option<Together>,
    /// All steps together, with all streams.
    pub together_all: Option<Together>,
}

impl FlowFound {
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

    /// Bytes of text for each stored byte.
    pub fn text_of_stored(&self) -> f64 {
        self.ratio(Decoded::text_bytes, |decoded| {
            decoded.work.meter.stored_bytes as f64
        })
        .unwrap_or(1.0)
    }

    /// Rows for each stored byte.
    pub fn rows_of_stored(&self) -> f64 {
        let rows = |decoded: &Decoded| decoded.work.rows_read as f64;
        self.ratio(rows, |decoded| decoded.work.meter.stored_bytes as f64)
            .unwrap_or(0.0)
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

    /// Bytes of text that are left to load.
    pub fn text_bytes_left(&self) -> f64 {
        self.stored_bytes * self.text_of_stored()
    }
}

/// The largest flows, which are measured. The others are assumed to be like them.
pub fn largest(mut flows: Vec<FlowFound>) -> Vec<FlowFound> {
    flows.sort_by(|a, b| b.stored_bytes.total_cmp(&a.stored_bytes));
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

/// Keeps the portions that were read, in the order in which [`portions`] lists them. If the time was too short to read
/// any portion of a flow, all are kept: the later steps read them themselves.
pub fn keep_read(flows: &mut [FlowFound], is_read: &[bool]) {
    let mut flags = is_read.iter().copied();
    for (_, portions) in flows.iter_mut().flat_map(|flow| &mut flow.works) {
        let own: Vec<bool> = flags.by_ref().take(portions.len()).collect();
        if own.contains(&true) {
            let mut own = own.into_iter();
            portions.retain(|_| own.next().unwrap_or(true));
        }
    }
}

/// Bytes of text for each byte that is sent, of all flows.
pub fn text_of_sent(flows: &[FlowFound]) -> f64 {
    let text: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    let sent: f64 = flows
        .iter()
        .map(|flow| flow.text_bytes_left() / flow.text_of_sent())
        .sum();
    match sent > 0.0 {
        true => text / sent,
        false => 1.0,
    }
}
