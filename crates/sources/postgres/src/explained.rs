//! Asks the server's planner for the expected number of rows of a statement, and whether the statement can be run range
//! by range.

use std::path::Path;

use inrush_pgclient::BlockingSession;
use inrush_pgclient::quote::literal;
use inrush_source::SourceError;

use crate::error::{of_session, unsuitable};

/// The number of bytes of a row, in the form in which it is sent, in addition to its values.
const ROW_BYTES: u64 = 10;

/// Methods that the planner must not use, so that a plan shows only what the query itself says.
const PLANNED_OTHERWISE: [&str; 3] = ["enable_indexscan", "enable_indexonlyscan", "enable_sort"];

/// The planner's expectations of a SELECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The expected number of rows.
    pub rows: u64,
    /// The expected number of bytes of all rows.
    pub bytes: u64,
    /// True if it keeps only some of its rows (LIMIT, TABLESAMPLE), so it may keep different rows when it is run again.
    has_chosen_rows: bool,
    /// The name in SQL of a part that depends on the order of rows, if there is one. Then the statement may return
    /// other rows or values when it is run again.
    depends_on_order: Option<&'static str>,
    /// True if it reads foreign tables.
    pub has_foreign_rows: bool,
    /// Words before a parenthesis, among them the names of all functions.
    called: Vec<String>,
    /// The plan.
    json: String,
}

impl Explained {
    /// Asks the server about a SELECT.
    pub fn of(
        session: &mut BlockingSession,
        input: &Path,
        select: &str,
    ) -> Result<Explained, SourceError> {
        let sql = format!("EXPLAIN (VERBOSE, FORMAT JSON) {select}");
        let found = session
            .query(&sql, "asking the planner for the number of rows")
            .map_err(|error| of_session(input, error))?;
        let text = found.texts().concat();
        Ok(Explained::read(&text))
    }

    /// Asks the server about a SELECT that is to be run once for each range of a key.
    ///
    /// The planner may find a minimum by a LIMIT of its own, and do DISTINCT by sorting. In a plan, these look like a
    /// LIMIT and a DISTINCT ON of the user. So the planner is asked to use no indexes and sorts: then it does neither,
    /// if there is another way.
    pub fn of_ranges(
        session: &mut BlockingSession,
        input: &Path,
        select: &str,
    ) -> Result<Explained, SourceError> {
        set_planner(session, input, "off")?;
        let explained = Explained::of(session, input, select)?;
        set_planner(session, input, "DEFAULT")?;
        Ok(explained)
    }

    /// Reads a plan. The first numbers in it belong to the topmost node.
    fn read(json: &str) -> Explained {
        let rows = number_of(json, "\"Plan Rows\": ").max(1);
        let width = number_of(json, "\"Plan Width\": ");
        let mut lines = json.lines().map(str::trim).peekable();
        let mut has_chosen_rows = false;
        let mut depends_on_order = None;
        let mut has_foreign_rows = false;
        while let Some(line) = lines.next() {
            match line {
                "\"Node Type\": \"Sample Scan\"," => has_chosen_rows = true,
                "\"Node Type\": \"Limit\"," => {
                    // The planner itself finds a minimum by a limit of one row.
                    has_chosen_rows |= !lines.peek().is_some_and(|next| {
                        next.contains("\"InitPlan\"") || next.contains("\"SubPlan\"")
                    });
                    depends_on_order = Some("LIMIT");
                }
                "\"Node Type\": \"Unique\"," => depends_on_order = Some("DISTINCT ON"),
                "\"Node Type\": \"WindowAgg\"," => depends_on_order = Some("a window function"),
                "\"Node Type\": \"Foreign Scan\"," => has_foreign_rows = true,
                // A foreign server may do a part of the query itself.
                _ if line.starts_with("\"Remote SQL\": ") && line.contains(" LIMIT ") => {
                    depends_on_order = Some("LIMIT");
                }
                _ => {}
            }
        }
        Explained {
            rows,
            bytes: rows.saturating_mul(width.saturating_add(ROW_BYTES)),
            has_chosen_rows,
            depends_on_order,
            has_foreign_rows,
            called: words_before_parentheses(json),
            json: json.to_owned(),
        }
    }

    /// Words before a parenthesis, among them the names of all functions, without their schemas.
    pub fn called(&self) -> impl Iterator<Item = &str> {
        self.called.iter().map(String::as_str)
    }

    /// True if the plan has a word.
    pub fn has_word(&self, word: &str) -> bool {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        self.json.match_indices(word).any(|(at, _)| {
            !self.json[..at].ends_with(is_of_word)
                && !self.json[at + word.len()..].starts_with(is_of_word)
        })
    }

    /// True if partitions were left out when the plan was begun, by a condition that the plan does not show.
    pub fn has_removed_partitions(&self) -> bool {
        let mut removed = self.json.match_indices("\"Subplans Removed\": ");
        removed.any(|(at, name)| !self.json[at + name.len()..].starts_with('0'))
    }

    /// Refuses a statement with functions that may return other values when they are called again, such as random().
    pub fn refuse_volatile(
        &self,
        session: &mut BlockingSession,
        input: &Path,
    ) -> Result<(), SourceError> {
        let called: Vec<String> = self.called.iter().map(|name| literal(name)).collect();
        if called.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT min(oid::pg_catalog.regproc::text) FROM pg_catalog.pg_proc \
             WHERE provolatile = 'v' AND proname IN ({})",
            called.join(", ")
        );
        let found = session
            .query(&sql, "asking which functions are volatile")
            .map_err(|error| of_session(input, error))?;
        match found.first() {
            None => Ok(()),
            Some(function) => Err(unsuitable(
                input,
                format!(
                    "it calls {function}, which is volatile, and `split_by` runs it once for each range: rows might be read \
                     twice or never"
                ),
                "leave `split_by` out; or declare a function of your own STABLE or IMMUTABLE, if it is",
            )),
        }
    }

    /// Refuses a statement whose rows or values depend on the order in which the server meets rows. The planner must have been
    /// asked by [`Explained::of_ranges`].
    pub fn refuse_order(&self, input: &Path) -> Result<(), SourceError> {
        self.refuse_chosen_rows(input, "split_by")?;
        match self.depends_on_order {
            None => Ok(()),
            Some(part) => Err(unsuitable(
                input,
                format!(
                    "it has {part}, whose result may depend on the order of the rows, and `split_by` runs it once for each \
                     range: rows might be read twice or never"
                ),
                "leave `split_by` out, or store the rows in a table first (CREATE TABLE AS) and read that",
            )),
        }
    }

    /// Refuses a statement that may return other rows when it is run again. `setting` is the setting that runs it
    /// again.
    pub fn refuse_chosen_rows(&self, input: &Path, setting: &str) -> Result<(), SourceError> {
        match self.has_chosen_rows {
            false => Ok(()),
            true => Err(unsuitable(
                input,
                format!(
                    "it keeps only some of its rows (LIMIT, FETCH or TABLESAMPLE); `{setting}` \
                     runs it once for each range, and each run could keep different rows"
                ),
                format!(
                    "leave `{setting}` out, or write the limit as a condition (WHERE id < ...)"
                ),
            )),
        }
    }
}

/// Sets what the planner may use, until the transaction ends.
fn set_planner(session: &mut BlockingSession, input: &Path, to: &str) -> Result<(), SourceError> {
    let set = PLANNED_OTHERWISE.map(|name| format!("SET LOCAL {name} = {to}"));
    let done = session.query(&set.join("; "), "setting how a query is planned");
    done.map(drop).map_err(|error| of_session(input, error))
}

/// The words of a plan that are directly before a parenthesis, without their schemas, each once.
fn words_before_parentheses(json: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (end, _) in json.match_indices('(') {
        let before = &json[..end];
        let word = match before.strip_suffix("\\\"") {
            Some(quoted) => quoted.rsplit("\\\"").next().unwrap_or_default(),
            None => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
                let start = before.rfind(|c: char| !is_part(c));
                start.map_or(before, |start| {
                    let skipped = before[start..].chars().next().map_or(0, char::len_utf8);
                    &before[start + skipped..]
                })
            }
        };
        if !word.is_empty() && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

fn number_of(json: &str, name: &str) -> u64 {
    let Some((_, rest)) = json.split_once(name) else {
        return 0;
    };
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    digits.parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topmost_node_is_read() {
        let json = r#"[
  {
    "Plan": {
      "Node Type": "Aggregate",
      "Plan Rows": 12,
      "Plan Width": 30,
      "Plans": [
        {
          "Node Type": "Limit",
          "Parent Relationship": "InitPlan",
          "Plan Rows": 1000000,
          "Plan Width": 4
        }
      ]
    }
  }
]"#;
        let expected = Explained {
            rows: 12,
            bytes: 480,
            has_chosen_rows: false,
            depends_on_order: Some("LIMIT"),
            has_foreign_rows: false,
            called: Vec::new(),
            json: json.to_owned(),
        };
        assert_eq!(Explained::read(json), expected);
        let outer = json.replace("InitPlan", "Outer");
        let error = Explained::read(&outer).refuse_chosen_rows(Path::new("q"), "split_by");
        assert!(error.is_err_and(|error| error.to_string().contains("LIMIT")));
        assert_eq!(Explained::read("").rows, 1);
    }

    #[test]
    fn words_and_removed_partitions_are_found() {
        let json =
            r#""Filter": "(at > CURRENT_DATE)", "Subplans Removed": 0, "Subplans Removed": 12"#;
        let explained = Explained::read(json);
        assert!(explained.has_word("CURRENT_DATE") && !explained.has_word("CURRENT"));
        assert!(explained.has_removed_partitions());
        assert!(!Explained::read(r#""Subplans Removed": 0"#).has_removed_partitions());
    }

    #[test]
    fn functions_are_found_by_their_names() {
        let json = r#""Output": ["lower(t.a)", "(random() * '2'::double precision)", "public.\"Odd Name\"(t.b)"]"#;
        let words = words_before_parentheses(json);
        assert_eq!(words, ["lower", "random", "Odd Name"]);
    }
}
