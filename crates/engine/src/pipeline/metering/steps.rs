//! Turns samples of cumulative figures into series of equal steps.

/// The most steps. If there are more, each pair of neighbours becomes one step.
pub const STEPS_MAX: usize = 1_200;

/// The kind of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// A sum that grows. The value of a step is the increase during the step.
    Sum,
    /// A state. The value of a step is the last value during the step.
    State,
}

/// A figure, identified by its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure(usize);

/// The figures of all steps.
#[derive(Debug, Default)]
pub struct Steps {
    kinds: Vec<FigureKind>,
    seen: Vec<bool>,
    /// The figures of the last sample, by column.
    before: Vec<u64>,
    rows: Vec<Box<[u64]>>,
    /// How often the steps were doubled.
    doublings: u32,
    /// The number of samples that the last step has so far.
    last_looks: usize,
}

/// One sample of all figures.
#[derive(Debug)]
pub struct Look {
    figures: Vec<Option<u64>>,
}

impl Look {
    /// Sets the current value of a figure.
    pub fn set(&mut self, column: Figure, figure: u64) {
        self.figures[column.0] = Some(figure);
    }

    /// Sets the current value of a figure, if it is known.
    pub fn set_if(&mut self, column: Figure, figure: Option<u64>) {
        if figure.is_some() {
            self.figures[column.0] = figure;
        }
    }
}

impl Steps {
    /// Adds a column for one more figure. Call it before the first sample.
    pub fn column(&mut self, kind: FigureKind) -> Figure {
        self.kinds.push(kind);
        self.seen.push(false);
        self.before.push(0);
        Figure(self.kinds.len() - 1)
    }

    /// A sample without any value.
    pub fn look(&self) -> Look {
        Look {
            figures: vec![None; self.kinds.len()],
        }
    }

    /// Sets the values of sums before the first step begins.
    pub fn begin(&mut self, look: &Look) {
        for (index, figure) in look.figures.iter().enumerate() {
            if let Some(figure) = figure {
                self.seen[index] = true;
                self.before[index] = *figure;
            }
        }
    }

    /// Adds a sample that came `looks` intervals after the one before; the increase is divided evenly among them.
    pub fn add(&mut self, look: &Look, looks: usize) {
        let looks = looks.max(1);
        let mut deltas = vec![0; self.kinds.len()];
        for (index, figure) in look.figures.iter().enumerate() {
            let before = &mut self.before[index];
            let now = match figure {
                Some(figure) => {
                    // If a sum is known for the first time, its increase since the sample before is unknown and counts
                    // as 0.
                    if !self.seen[index] && self.kinds[index] == FigureKind::Sum {
                        *before = *figure;
                    }
                    self.seen[index] = true;
                    *figure
                }
                None => *before,
            };
            deltas[index] = match self.kinds[index] {
                FigureKind::Sum => now.saturating_sub(*before),
                FigureKind::State => now,
            };
            *before = match self.kinds[index] {
                // A sum that is read while another thread writes it may go back once.
                FigureKind::Sum => now.max(*before),
                FigureKind::State => now,
            };
        }
        for number in 0..looks {
            let part = |(index, delta): (usize, &u64)| match self.kinds[index] {
                FigureKind::Sum => {
                    delta * (number as u64 + 1) / looks as u64
                        - delta * number as u64 / looks as u64
                }
                FigureKind::State => *delta,
            };
            let row = deltas.iter().enumerate().map(part).collect();
            self.push(row);
        }
    }

    fn push(&mut self, row: Box<[u64]>) {
        let looks_of_row = 1_usize << self.doublings;
        match self.rows.last_mut() {
            Some(last) if self.last_looks < looks_of_row => {
                merge(&self.kinds, last, &row);
                self.last_looks += 1;
            }
            _ => {
                self.rows.push(row);
                self.last_looks = 1;
            }
        }
        if self.rows.len() > STEPS_MAX {
            self.double();
        }
    }

    /// Joins each pair of neighbouring steps.
    fn double(&mut self) {
        let is_odd = self.rows.len() % 2 == 1;
        let full = 1 << self.doublings;
        let rows = std::mem::take(&mut self.rows);
        let mut rows = rows.into_iter();
        while let Some(mut first) = rows.next() {
            if let Some(second) = rows.next() {
                merge(&self.kinds, &mut first, &second);
            }
            self.rows.push(first);
        }
        if !is_odd {
            self.last_looks += full;
        }
        self.doublings += 1;
    }

    /// The number of samples in a step.
    pub fn looks_per_step(&self) -> u32 {
        1 << self.doublings
    }

    /// The number of steps.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The value of a figure in each step; `None` if it was never known.
    pub fn series(&self, column: Figure) -> Option<Vec<u64>> {
        self.seen[column.0].then(|| self.rows.iter().map(|row| row[column.0]).collect())
    }

    /// The value of a figure in each step; zeros if it was never known.
    pub fn series_or_zero(&self, column: Figure) -> Vec<u64> {
        self.rows.iter().map(|row| row[column.0]).collect()
    }
}

fn merge(kinds: &[FigureKind], first: &mut [u64], second: &[u64]) {
    for ((kind, first), second) in kinds.iter().zip(first).zip(second) {
        *first = match kind {
            FigureKind::Sum => *first + second,
            FigureKind::State => *second,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_late_look_is_divided() {
        let mut steps = Steps::default();
        let (sum, state) = (
            steps.column(FigureKind::Sum),
            steps.column(FigureKind::State),
        );
        let mut look = steps.look();
        look.set(sum, 100);
        steps.begin(&look);
        look.set(sum, 110);
        look.set(state, 3);
        steps.add(&look, 1);
        look.set(sum, 117);
        look.set(state, 4);
        steps.add(&look, 3);
        assert_eq!(steps.series(sum), Some(vec![10, 2, 2, 3]));
        assert_eq!(steps.series(state), Some(vec![3, 4, 4, 4]));
    }

    #[test]
    fn what_is_never_known_has_no_series() {
        let mut steps = Steps::default();
        let (known, unknown) = (steps.column(FigureKind::Sum), steps.column(FigureKind::Sum));
        let mut look = steps.look();
        look.set(known, 5);
        steps.add(&look, 1);
        // The sum became known in the middle of a step: its value before that does not belong to the step.
        look.set(known, 7);
        steps.add(&look, 1);
        assert_eq!(steps.series(known), Some(vec![0, 2]));
        assert_eq!(steps.series(unknown), None);
        assert_eq!(steps.series_or_zero(unknown), [0, 0]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_it_takes(
            looks in prop::collection::vec((0_u64..1_000, 1_usize..4), 1..4_000),
        ) {
            let mut steps = Steps::default();
            let (sum, state) = (steps.column(FigureKind::Sum), steps.column(FigureKind::State));
            let mut look = steps.look();
            look.set(sum, 0);
            steps.begin(&look);
            let (mut total, mut intervals) = (0, 0);
            for (delta, late) in &looks {
                total += delta;
                intervals += late;
                look.set(sum, total);
                look.set(state, total);
                steps.add(&look, *late);
            }
            prop_assert!(steps.count() <= STEPS_MAX);
            prop_assert_eq!(steps.count(), intervals.div_ceil(steps.looks_per_step() as usize));
            prop_assert_eq!(steps.series_or_zero(sum).iter().sum::<u64>(), total);
            let states = steps.series_or_zero(state);
            prop_assert_eq!(states.last(), Some(&total));
        }
    }
}
