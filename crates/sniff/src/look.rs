//! Looks at rows: what their columns contain, and whether the first record names them.

use super::choose_form::FormChoice;
use super::choose_type::{self, Decision};
use super::contest;
use super::error::SniffError;
use super::evidence::Evidence;
use super::kinds::TypeGuess;
use super::known::Known;
use super::sample::Samples;
use super::{header_detection, mapping, text};

/// The form, with the decision about its header, and the evidence of the columns below it.
pub(super) struct Look {
    pub choice: FormChoice,
    pub evidence: Evidence,
    pub decisions: Vec<Decision>,
}

impl Look {
    /// Looks at the rows of the samples, and decides whether the first record is a header.
    pub fn at(
        known: &Known,
        samples: &Samples,
        mut choice: FormChoice,
    ) -> Result<Look, SniffError> {
        let field_count = choice.field_count;
        let without_first = Evidence::of_samples(samples, &choice.form, field_count, true);
        if without_first.first_records.is_empty() {
            text::refuse(samples)?;
            return Err(SniffError::Records {
                path: known.path.clone(),
                what:
                    "no records were found in it: its lines are blank, or all have a different form"
                        .to_owned(),
                mend: "declare its format and columns: --format and --columns".to_owned(),
            });
        }
        let decisions = decide_all(&without_first, samples.is_everything);
        if !known.is_declared {
            let header = header_detection::guess(&without_first, &decisions, known.usual_header());
            choice.form.header = header.has_header;
            choice.seen.push(header.seen);
            choice.unsure.extend(header.unsure);
        }
        if without_first.comments > 0 {
            let before = choice.form.comment.replace(b'#');
            // A delimiter or a quote cannot be the sign of a comment.
            if mapping::dialect(&choice.form).check().is_err() {
                choice.form.comment = before;
            }
        }
        if choice.form.header {
            return Ok(Look {
                choice,
                evidence: without_first,
                decisions,
            });
        }
        Ok(Look::at_all(samples, choice))
    }

    /// Looks at the rows of samples that have no header.
    pub fn at_all(samples: &Samples, choice: FormChoice) -> Look {
        let evidence = Evidence::of_samples(samples, &choice.form, choice.field_count, false);
        Look {
            decisions: decide_all(&evidence, samples.is_everything),
            evidence,
            choice,
        }
    }

    /// The note for columns that are all text but would have other types below the first lines: the first lines may be
    /// a title with as many fields as the table, or a header of two lines.
    pub fn later_header(&self, known: &Known, samples: &Samples) -> Option<String> {
        const LINES_MAX: u32 = 3;
        let choice = &self.choice;
        if choice.field_count < 2 || !self.decisions.iter().all(is_text) {
            return None;
        }
        // A small part of the beginnings is enough, and costs almost nothing.
        let mut beginnings = contest::looks(samples);
        beginnings.retain(|sample| sample.starts_file);
        let beginnings = Samples {
            samples: beginnings,
            ..*samples
        };
        (1..=LINES_MAX).find_map(|lines| self.header_below(known, &beginnings, lines))
    }

    /// The note if the record below this number of lines is the header of columns with types other than text.
    fn header_below(&self, known: &Known, beginnings: &Samples, lines: u32) -> Option<String> {
        let below = beginnings.without_lines(lines, &mapping::lines_dialect());
        let choice = FormChoice {
            unsure: Vec::new(),
            ..self.choice.clone()
        };
        let found = Look::at(known, &below, choice).ok()?;
        // Below a header, a row that lacks values of other rows is not a second header.
        let above = self
            .evidence
            .first_records
            .first()
            .filter(|_| self.choice.form.header);
        if let (Some(above), Some(first)) = (above, found.evidence.first_records.first())
            && !header_detection::is_fuller(&above.fields, &first.fields)
        {
            return None;
        }
        // If there are fewer rows than lines above them, the rows may be the exception, such as a line of totals.
        if found.evidence.rows <= u64::from(lines) {
            return None;
        }
        let typed = found
            .decisions
            .iter()
            .filter(|decision| is_telling(decision));
        let typed = typed.count() as u64;
        let is_sure = found.choice.form.header && found.choice.unsure.is_empty();
        (is_sure && typed > 0).then(|| {
            format!(
                "all columns are text because of the first lines: below line {} {} would have \
                 another type; if that line is the header, set skip_lines = {lines} in `format`",
                lines + 1,
                inrush_rows::plural::counted(typed, "column")
            )
        })
    }
}

/// True if a column's type shows that its values are not names. Letters that could be booleans do not show it: the rows
/// below an `M` may all have an `F`.
fn is_telling(decision: &Decision) -> bool {
    !matches!(
        decision.column_type,
        TypeGuess::Text | TypeGuess::Boolean { .. }
    )
}

fn is_text(decision: &Decision) -> bool {
    decision.column_type == TypeGuess::Text
}

/// The types of all columns.
pub(super) fn decide_all(evidence: &Evidence, is_everything: bool) -> Vec<Decision> {
    evidence
        .columns
        .iter()
        .map(|facts| choose_type::decide(facts, evidence.rows, is_everything))
        .collect()
}
