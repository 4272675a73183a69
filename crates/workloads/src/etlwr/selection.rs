//! The choice of tables and parts.

use crate::error::WorkloadError;

/// The order in which each stream of 2009 loaded its tables, as far as it was published: the text names customer and
/// supplier first, "and so on, in sequence", and shows the tables of the package in the order customer, supplier, part,
/// partsupp, orders, lineitem. The two small tables, which were not loaded in parts, come first here.
pub const SEQUENCE: [&str; 8] = [
    "region", "nation", "customer", "supplier", "part", "partsupp", "orders", "lineitem",
];

/// Tables that were loaded in 2009.
const OF_2009: &[&str] = SEQUENCE.split_at(2).1;

/// A choice of tables and parts, as the user writes it.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Tables separated by commas, or `all`; the default is the six of 2009.
    pub tables: Option<String>,
    /// Parts, such as `6`, `1-14` or `1-3,8`; the default is all of them.
    pub part: Option<String>,
    /// True for a tenth of the data, in the same number of parts as the whole.
    pub ten_percent: bool,
}

/// The tables that `--tables` names, in their sequence.
pub fn tables(text: Option<&str>) -> Result<Vec<&'static str>, WorkloadError> {
    let wanted: Vec<&str> = match text {
        None => return Ok(OF_2009.to_vec()),
        Some("all") => return Ok(SEQUENCE.to_vec()),
        Some(text) => text.split(',').map(str::trim).collect(),
    };
    if let Some(unknown) = wanted.iter().find(|table| !SEQUENCE.contains(table)) {
        return Err(WorkloadError::Usage {
            what: format!("--tables: TPC-H has no table {unknown:?}"),
            hint: format!("its tables are {}; or write all", SEQUENCE.join(", ")),
        });
    }
    let chosen = SEQUENCE.iter().filter(|table| wanted.contains(table));
    Ok(chosen.copied().collect())
}

/// The parts that `--part` names, in order.
pub fn parts(text: Option<&str>, parts: u32) -> Result<Vec<u32>, WorkloadError> {
    let Some(text) = text else {
        return Ok((1..=parts).collect());
    };
    let mut wanted = Vec::new();
    for piece in text.split(',').map(str::trim) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(WorkloadError::Usage {
                what: format!("--part: {piece:?} is neither a part nor a range of parts"),
                hint: "write them as in 6, 1-14 or 1-3,8".to_owned(),
            });
        };
        if first > last {
            return Err(WorkloadError::Usage {
                what: format!("--part: {piece} begins after its end"),
                hint: format!("write {last}-{first}"),
            });
        }
        if let Some(part) = [first, last]
            .into_iter()
            .find(|part| !(1..=parts).contains(part))
        {
            return Err(WorkloadError::Usage {
                what: format!("--part: there is no part {part} of {parts}"),
                hint: format!("parts are numbered 1 to {parts}"),
            });
        }
        wanted.extend(first..=last);
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use inrush::ExitStatus;

    use super::*;

    fn told<T: std::fmt::Debug>(result: Result<T, WorkloadError>) -> String {
        let error = result.expect_err("it is wrong");
        assert_eq!(error.exit_status(), ExitStatus::Usage);
        error.told()
    }

    #[test]
    fn tables_come_in_their_sequence() {
        assert_eq!(tables(None).unwrap()[0], "customer");
        assert_eq!(tables(None).unwrap().len(), 6);
        assert_eq!(tables(Some("all")).unwrap().len(), 8);
        let two = tables(Some("lineitem, part")).unwrap();
        assert_eq!(two, ["part", "lineitem"]);
        for text in ["lineitems", "", "part,", "PART"] {
            assert!(told(tables(Some(text))).contains("lineitem"), "{text}");
        }
    }

    #[test]
    fn parts_are_numbers_and_ranges() {
        assert_eq!(parts(None, 3).unwrap(), [1, 2, 3]);
        assert_eq!(parts(Some("8, 1-3,2"), 56).unwrap(), [1, 2, 3, 8]);
        assert_eq!(parts(Some("56"), 56).unwrap(), [56]);
        for (text, said) in [
            ("57", "no part 57 of 56"),
            ("0", "no part 0"),
            ("50-60", "no part 60"),
            ("3-1", "write 1-3"),
            ("a", "\"a\""),
            ("1-", "\"1-\""),
            ("", "\"\""),
            ("-1", "\"-1\""),
            ("1-4294967295", "no part 4294967295"),
        ] {
            let told = told(parts(Some(text), 56));
            assert!(told.contains(said), "{text}: {told}");
        }
    }
}
