//! Sums that a database makes of the columns of a staging table, by queries.
//!
//! Each measure of a column is made of one or more [`Addend`]s: sums that the database makes exactly, in whole numbers
//! or decimals, and that are put together here. A column for which a database has no exact sum is only counted.

use super::{ColumnForm, ExactSum, StagedSums};
use crate::error::{Error, Result};

/// The most sums that one statement asks for. Databases limit the columns of a result: SQLite to 2,000.
const SUMS_MAX: usize = 500;

/// A sum that a database makes of a column; the measure is the total of its addends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addend {
    /// An aggregate, whose value is a number or NULL.
    pub sql: String,
    /// The factor by which its value is multiplied in the measure.
    pub times: i128,
    /// The exponent of the power of ten by which it is also multiplied.
    pub exponent: i32,
}

impl Addend {
    /// An aggregate whose value is added unchanged.
    pub fn whole(sql: String) -> Addend {
        Addend::scaled(sql, 0)
    }

    /// An aggregate whose value is multiplied by a power of ten.
    pub fn scaled(sql: String, exponent: i32) -> Addend {
        Addend {
            sql,
            times: 1,
            exponent,
        }
    }

    fn add(&self, text: &str, sum: &mut ExactSum) -> bool {
        match text.parse::<i128>() {
            Ok(number) => {
                sum.add_at(self.exponent, number * self.times);
                true
            }
            // A decimal of the database, which is added unchanged.
            Err(_) => self.times == 1 && self.exponent == 0 && sum.add_text(text),
        }
    }
}

/// A column that is summed up by a query.
#[derive(Clone, Debug)]
pub struct SummedColumn {
    /// Its name, as statements write it.
    pub name: String,
    /// The addends of each of its measures; none if it is only counted.
    pub measures: Vec<Vec<Addend>>,
}

/// The rows of an answer, as texts; `None` is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// How a database is asked for sums.
#[derive(Clone, Copy, Debug)]
pub struct SumDialect {
    /// The function that counts rows and values: `count`.
    pub count: &'static str,
    /// The type of text as which the sums are returned.
    pub text_type: &'static str,
}

impl StagedSums {
    /// Asks for the sums of all rows of a table, by as many queries as are needed. `rows` runs a query for these
    /// expressions.
    pub fn ask(
        dialect: SumDialect,
        doing: &str,
        forms: &[ColumnForm],
        columns: Vec<SummedColumn>,
        rows: &mut dyn FnMut(&str) -> Result<TextRows>,
    ) -> Result<StagedSums> {
        let SumDialect { count, text_type } = dialect;
        let mut sums = StagedSums::none(forms);
        // Each addend with its place among the sums; the count of rows is the first place.
        let mut asked = vec![(0, Addend::whole(format!("{count}(*)")))];
        let mut place = 1;
        for column in columns {
            asked.push((place, Addend::whole(format!("{count}({})", column.name))));
            place += 1;
            for addends in column.measures {
                asked.extend(addends.into_iter().map(|addend| (place, addend)));
                place += 1;
            }
        }
        for asked in asked.chunks(SUMS_MAX) {
            let texts = asked.iter();
            let texts: Vec<String> = texts
                .map(|(_, addend)| format!("CAST(coalesce({}, 0) AS {text_type})", addend.sql))
                .collect();
            let answer = rows(&texts.join(", "))?;
            let answer = answer.into_iter().next().unwrap_or_default();
            for (at, (place, addend)) in asked.iter().enumerate() {
                let text = answer.get(at).cloned().flatten().unwrap_or_default();
                let sum = match place {
                    0 => &mut sums.rows,
                    place => &mut sums.columns[place - 1],
                };
                if !addend.add(&text, sum) {
                    return Err(Error::Refused {
                        doing: doing.to_owned(),
                        message: format!("expected a number for {}, but got {text:?}", addend.sql),
                        hint: None,
                    });
                }
            }
        }
        Ok(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addends_are_worth_what_they_say() {
        let mut sum = ExactSum::default();
        let days = Addend {
            times: 86_400,
            ..Addend::whole("d".to_owned())
        };
        assert!(days.add("-2", &mut sum));
        assert!(Addend::scaled("m".to_owned(), -6).add("1500000", &mut sum));
        assert!(Addend::whole("x".to_owned()).add("0.25", &mut sum));
        assert_eq!(sum.to_string(), "-172798.25");
        for wrong in ["", "1e5", "NaN"] {
            assert!(!Addend::whole("x".to_owned()).add(wrong, &mut sum));
        }
        assert!(!days.add("0.5", &mut sum), "a fraction of a day");
    }
}
