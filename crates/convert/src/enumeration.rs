//! Enums: one of the type's labels, exactly as it is written there.

use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::views::{Built, Kept, TextCheck};

/// The number of labels that an error lists.
const LABELS_NAMED_MAX: usize = 3;

/// Texts at least this similar (Jaro-Winkler) are near.
const SIMILARITY_MIN: f64 = 0.75;

/// Converts labels of one enum.
pub(super) struct Enumeration {
    /// Sorted by length, then by text, because most comparisons end at the length.
    sorted: Vec<Box<str>>,
    /// The labels, in the type's own order.
    labels: Vec<String>,
}

impl Enumeration {
    pub fn new(labels: &[String]) -> Enumeration {
        let mut sorted: Vec<Box<str>> = labels.iter().map(|label| label.as_str().into()).collect();
        sorted.sort_by(|left, right| order(left, right));
        Enumeration {
            sorted,
            labels: labels.to_vec(),
        }
    }

    fn unknown(&self, field: &str) -> ValueError {
        let mut near: Vec<(f64, &str)> = self
            .labels
            .iter()
            .map(|label| {
                let similarity =
                    strsim::jaro_winkler(&label.to_lowercase(), &field.trim().to_lowercase());
                (similarity, label.as_str())
            })
            .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
            .collect();
        near.sort_by(|left, right| right.0.total_cmp(&left.0));
        let quoted = |labels: &mut dyn Iterator<Item = &str>| {
            labels
                .take(LABELS_NAMED_MAX)
                .map(|label| format!("{label:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let hint = if self.labels.iter().any(|label| label == field.trim()) {
            "it has blanks around it: remove them".to_owned()
        } else if field.is_empty() {
            "the field is empty: if that means NULL, set null = \"\" in the format".to_owned()
        } else if near.is_empty() {
            let more = if self.labels.len() > LABELS_NAMED_MAX {
                ", ..."
            } else {
                ""
            };
            let some = quoted(&mut self.labels.iter().map(String::as_str));
            format!("they are {some}{more}; fix the row, or add the label to the type")
        } else {
            let names = quoted(&mut near.iter().map(|(_, label)| *label));
            format!("near ones are {names}; fix the row, or add the label to the type")
        };
        ValueError::new(
            RejectCode::UnknownLabel,
            format!("not one of the type's {} labels; {hint}", self.labels.len()),
        )
    }
}

fn order(left: &str, right: &str) -> std::cmp::Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

impl TextCheck for Enumeration {
    fn check(&self, field: &str, _built: &mut Built<'_>) -> Result<Kept, ValueError> {
        match self.sorted.binary_search_by(|label| order(label, field)) {
            Ok(_) => Ok(Kept::Whole),
            Err(_) => Err(self.unknown(field)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(field: &str) -> Option<String> {
        let labels = ["new", "in progress", "done", "dropped", ""].map(str::to_owned);
        Enumeration::new(&labels)
            .check(field, &mut Built::at_end_of(&mut String::new()))
            .err()
            .map(|error| error.reason)
    }

    #[test]
    fn labels_as_they_are_written() {
        for label in ["new", "in progress", "done", "dropped", ""] {
            assert_eq!(reason(label), None, "{label}");
        }
    }

    #[test]
    fn others_name_what_is_near() {
        for (field, near) in [
            ("New", "near ones are \"new\""),
            ("in_progress", "near ones are \"in progress\""),
            ("droped", "near ones are \"dropped\""),
            (" done", "it has blanks around it"),
            ("xyz", "they are \"new\", \"in progress\", \"done\", ..."),
        ] {
            let reason = reason(field).expect("an error");
            assert!(reason.contains(near), "{field}: {reason}");
        }
    }
}
