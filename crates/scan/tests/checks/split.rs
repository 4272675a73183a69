//! Checks that ranges contain exactly the records of a serial scan, for all cuts of the file and all sizes of reads.

use inrush_scan::reference::scan_reference;
use inrush_scan::split::{
    Method, RangeScanner, RangeSummary, RecordFinder, State, first_record_of_fixed, resolve,
};
use inrush_scan::{Dialect, Records, TextEnd};

/// The offset at which a record, a blank line or a comment begins, and the number of lines before it.
pub type Begin = (u64, u64);

/// All records that begin in `text`. The reference finds them one by one, so that blank lines and comments are found,
/// too.
pub fn begins(dialect: &Dialect, text: &[u8]) -> Vec<Begin> {
    let dialect = Dialect {
        record_bytes_max: 1 << 30,
        ..dialect.clone()
    };
    let mut begins = Vec::new();
    let mut start = 0;
    let mut line = 0;
    while start < text.len() {
        begins.push((start as u64, line));
        let rest = &text[start..];
        let mut records = Records::default();
        let mut consumed_of = |bytes: usize| {
            // Not `More`: with that, an end marker of COPY would wait for the next record.
            let end = TextEnd::MoreRecords;
            let scan = scan_reference(&dialect, &rest[..bytes], end, &mut records);
            scan.expect("a record has room").bytes_consumed
        };
        // The shortest text of which anything is consumed contains one record. This also finds blank lines and
        // comments.
        let mut enough = 1;
        while enough < rest.len() && consumed_of(enough) == 0 {
            enough = rest.len().min(enough * 2);
        }
        let mut too_little = 0;
        while enough - too_little > 1 {
            let middle = too_little.midpoint(enough);
            match consumed_of(middle) {
                0 => too_little = middle,
                _ => enough = middle,
            }
        }
        let consumed = consumed_of(enough);
        if consumed == 0 {
            break;
        }
        start += consumed;
        line += u64::from(records.line_count);
    }
    begins
}

/// The summaries of the ranges that `cuts` make, pushed in pieces of `piece_bytes`.
pub fn summaries(
    fresh: &RangeScanner,
    text: &[u8],
    cuts: &[usize],
    piece_bytes: usize,
) -> Vec<RangeSummary> {
    ranges(text, cuts)
        .map(|range| {
            let mut scanner = fresh.clone();
            for piece in text[range].chunks(piece_bytes) {
                scanner.push(piece);
            }
            scanner.finish()
        })
        .collect()
}

fn ranges<'a>(
    text: &'a [u8],
    cuts: &'a [usize],
) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| start..end)
}

/// A text, and the facts that are known before it is cut.
pub struct Whole<'a> {
    dialect: &'a Dialect,
    text: &'a [u8],
    begins: Vec<Begin>,
    /// The number of line ends in the whole text.
    line_count: u64,
    method: Method,
    fresh: RangeScanner,
}

impl<'a> Whole<'a> {
    /// Reads `text` serially.
    pub fn new(dialect: &'a Dialect, text: &'a [u8]) -> Whole<'a> {
        Whole::with(
            dialect,
            text,
            Method::of(dialect),
            &RangeScanner::new(dialect),
        )
    }

    /// Reads `text` serially; facts that depend only on the dialect are given.
    pub fn with(
        dialect: &'a Dialect,
        text: &'a [u8],
        method: Method,
        fresh: &RangeScanner,
    ) -> Whole<'a> {
        let begins = begins(dialect, text);
        let (last, line) = begins.last().copied().unwrap_or((0, 0));
        let roomy = Dialect {
            record_bytes_max: 1 << 30,
            ..dialect.clone()
        };
        let mut records = Records::default();
        scan_reference(&roomy, &text[last as usize..], true, &mut records)
            .expect("a record has room");
        Whole {
            dialect,
            text,
            begins,
            line_count: line + u64::from(records.line_count),
            method,
            fresh: fresh.clone(),
        }
    }

    /// Cuts the text everywhere, once and in several places, and checks the ranges.
    ///
    /// # Panics
    ///
    /// If one of them differs from a serial scan.
    pub fn check_all_cuts(&self, piece_bytes: usize) {
        for cut in 0..=self.text.len() {
            self.check(&[cut], piece_bytes);
        }
        for step in [1, 2, 3, 7, 64, 65] {
            let cuts: Vec<usize> = (0..=self.text.len()).step_by(step).collect();
            self.check(&cuts, piece_bytes);
        }
    }

    /// Checks the ranges that `cuts`, in order, make of the text.
    ///
    /// # Panics
    ///
    /// If a range does not begin where the first record in it does.
    pub fn check(&self, cuts: &[usize], piece_bytes: usize) {
        match self.method {
            Method::Arithmetic { record_bytes } => self.check_arithmetic(cuts, record_bytes),
            Method::Nearby { bytes_before } => {
                self.check_pass(cuts, piece_bytes);
                self.check_nearby(cuts, piece_bytes, bytes_before);
            }
            Method::Pass => self.check_pass(cuts, piece_bytes),
        }
    }

    fn first_at_or_behind(&self, offset: usize) -> Option<Begin> {
        let at = self.begins.partition_point(|begin| begin.0 < offset as u64);
        self.begins.get(at).copied()
    }

    fn check_arithmetic(&self, cuts: &[usize], record_bytes: u32) {
        for range in ranges(self.text, cuts) {
            let first = first_record_of_fixed(record_bytes, range.start as u64);
            match self.first_at_or_behind(range.start) {
                Some(begin) => assert_eq!(begin.0, first, "{range:?}"),
                None => assert!(first >= self.text.len() as u64, "{range:?}"),
            }
        }
    }

    fn check_nearby(&self, cuts: &[usize], piece_bytes: usize, bytes_before: usize) {
        let fresh = RecordFinder::new(self.dialect, b"");
        for range in ranges(self.text, cuts) {
            let before = range.start.saturating_sub(bytes_before);
            let mut finder = fresh.behind(&self.text[before..range.start]);
            let mut pieces = self.text[range.start..].chunks(piece_bytes);
            let found = pieces.find_map(|piece| finder.push(piece));
            assert_eq!(
                found.map(|offset| range.start as u64 + offset),
                self.first_at_or_behind(range.start).map(|begin| begin.0),
                "nearby {range:?} of {}\n{:?}",
                self.text.escape_ascii(),
                self.dialect
            );
        }
    }

    fn check_pass(&self, cuts: &[usize], piece_bytes: usize) {
        let summaries = summaries(&self.fresh, self.text, cuts, piece_bytes);
        let found = resolve(&summaries);
        for (range, found) in ranges(self.text, cuts).zip(&found) {
            let next = self.first_at_or_behind(range.start);
            let first = next.filter(|begin| begin.0 < range.end as u64);
            assert_eq!(
                found.first_record,
                first.map(|begin| begin.0),
                "{range:?} of {cuts:?} of {}\n{:?}",
                self.text.escape_ascii(),
                self.dialect
            );
            let line = match (first, self.dialect.line_byte()) {
                (Some(begin), _) => Some(begin.1),
                (None, Some(line_byte)) => {
                    let lines = self.text[..range.end].iter();
                    Some(lines.filter(|byte| **byte == line_byte).count() as u64)
                }
                // The line that a terminator inside the record has ended is unspecified.
                (None, None) if range.end < self.text.len() => None,
                (None, None) => Some(self.line_count),
            };
            if let Some(line) = line {
                assert_eq!(
                    found.line,
                    line,
                    "line of {range:?} of {cuts:?} of {}\n{:?}",
                    self.text.escape_ascii(),
                    self.dialect
                );
            }
        }
        let whole = summaries
            .iter()
            .fold(self.fresh.clone().finish(), |all, next| all.then(next));
        assert_eq!(whole.byte_count, self.text.len() as u64);
        let outcome = whole.outcome(State::FIRST);
        assert_eq!(outcome.line_count, self.line_count);
        assert_eq!(
            outcome.first_record.map(|first| first.offset),
            self.begins.first().map(|begin| begin.0)
        );
    }
}
