//! Finds the known word that is most similar to an unknown one.

/// The known word that was most likely meant, if one is similar enough.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted = normal(word);
    known
        .into_iter()
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wanted, &normal(candidate)),
                candidate,
            )
        })
        .filter(|(distance, candidate)| {
            *distance <= (candidate.chars().count().max(wanted.chars().count()) / 3).max(1)
                // One common letter of two is not enough: `gz` is not `xz`.
                && *distance * 2 < candidate.chars().count().max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// A normal form, because `Partition-By` means `partition_by` to a person.
fn normal(word: &str) -> String {
    word.to_lowercase().replace(['-', ' '], "_")
}

/// `a`, `b` and `c`, for a message.
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        let known = ["partition_by", "table", "to", "x"];
        for (word, nearest) in [
            ("partition_bye", Some("partition_by")),
            ("partitionBy", Some("partition_by")),
            ("Partition-By", Some("partition_by")),
            ("tabel", Some("table")),
            ("tables", Some("table")),
            ("parallelism", None),
            ("y", None),
            ("", None),
        ] {
            assert_eq!(suggestion(word, known).as_deref(), nearest, "{word}");
        }
    }
}
