//! The steps of an input: pages of a table or ranges of a key. A split is a range of the input's bytes; each step has
//! the same number of bytes, and the last step also the remainder.

use std::ops::Range;

use crate::SourceSplit;

/// The smallest pieces into which an input can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The number of steps.
    pub count: u64,
    /// The size of the input.
    pub size_bytes: u64,
}

impl Steps {
    /// The number of bytes of a step: splits end at multiples of it.
    pub fn step_bytes(self) -> u64 {
        (self.size_bytes / self.count.max(1)).max(1)
    }

    /// The steps in a range of bytes.
    pub fn of_bytes(self, range: &Range<u64>) -> Range<u64> {
        let end = match range.end < self.size_bytes {
            true => range.end / self.step_bytes(),
            false => self.count,
        };
        range.start / self.step_bytes()..end
    }

    /// Splits of about `wanted_bytes`, which cover the input.
    pub fn splits(self, input: usize, wanted_bytes: u64) -> Vec<SourceSplit> {
        let step_bytes = self.step_bytes();
        let at_once = (wanted_bytes / step_bytes).clamp(1, self.count.max(1));
        let mut splits = Vec::new();
        let mut step = 0;
        while step < self.count {
            let next = step.saturating_add(at_once).min(self.count);
            let end = match next == self.count {
                true => self.size_bytes,
                false => next * step_bytes,
            };
            let range = step * step_bytes..end;
            splits.push(SourceSplit {
                input,
                size_bytes: range.end - range.start,
                range,
                first_record: None,
                is_shared: false,
            });
            step = next;
        }
        splits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_cover_all_steps_once() {
        for (count, size_bytes) in [(1, 1), (7, 7), (7, 100), (512, 1_000_003)] {
            let steps = Steps { count, size_bytes };
            for wanted in [0, 1, 30, 1_000, u64::MAX] {
                let splits = steps.splits(3, wanted);
                let mut step = 0;
                let mut byte = 0;
                for split in &splits {
                    assert_eq!(split.range.start, byte, "{steps:?} {wanted}");
                    assert_eq!(
                        steps.of_bytes(&split.range).start,
                        step,
                        "{steps:?} {wanted}"
                    );
                    step = steps.of_bytes(&split.range).end;
                    byte = split.range.end;
                    assert_eq!(split.input, 3);
                }
                assert_eq!((step, byte), (count, size_bytes), "{wanted}");
            }
        }
    }
}
