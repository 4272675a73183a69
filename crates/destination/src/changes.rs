//! A [`Change`] says what a publish has done to a target, and an [`UndoCheck`] whether that can be undone.
//!
//! They are for destinations whose tables have rows of several runs. Rows of one run cannot be distinguished from other
//! rows in the same table. So a run is undone only if its target has exactly the rows that the run left there, and if
//! the rows that it replaced are kept or there were none. The ledger of the destination keeps a [`Change`] of each
//! target; [`UndoCheck`] has the reasons against an undo.

use inrush_rows::ids::{RunId, RunName};
use inrush_rows::plural::counted;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::ledger_row::LedgerRow;

/// What a publish has done to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// It made the table.
    Made,
    /// It filled a table, or partitions, without rows.
    Filled,
    /// It replaced all rows, or the rows of some partitions.
    Replaced,
    /// It added rows to the table, which keeps its earlier rows.
    Added,
    /// It merged rows into the rows of the table.
    Merged,
}

/// The change of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was done.
    pub what: What,
    /// Rows that were replaced; 0 if the earlier rows stay and so were not counted.
    pub rows_before: u64,
    /// The table that keeps the replaced rows, quoted; `None` if they are not kept.
    pub kept: Option<String>,
    /// True if the table in `kept` is dropped when the same package again replaces rows of the target and keeps them.
    pub until_next: bool,
    /// Earlier runs that lost their rows in the target, and the numbers of these rows.
    pub gone: Vec<(RunId, u64)>,
}

impl Change {
    /// A change that leaves nothing to put back.
    pub fn of(what: What) -> Change {
        Change {
            what,
            rows_before: 0,
            kept: None,
            until_next: false,
            gone: Vec::new(),
        }
    }

    /// The columns with a change and its target, in a ledger that is stored in tables, in the order of
    /// [`Change::values`] and [`Change::read`].
    pub const COLUMNS: &str = "target, what, rows_before, kept, until_next, gone";

    /// The values of these columns, separated by commas. `text` writes a text as a literal.
    pub fn values(&self, target: &str, text: fn(&str) -> String) -> String {
        let written = "names and numbers are written as JSON";
        let what = serde_json::to_string(&self.what).expect(written);
        let gone = serde_json::to_string(&self.gone).expect(written);
        format!(
            "{}, {}, {}, {}, {}, {}",
            text(target),
            text(what.trim_matches('"')),
            self.rows_before,
            self.kept.as_deref().map_or("NULL".to_owned(), text),
            u8::from(self.until_next),
            text(&gone),
        )
    }

    /// Reads these columns from the next values of a row: the target, and its change.
    pub fn read(row: &mut LedgerRow<'_>) -> Result<(String, Change)> {
        let target = row.text("target")?;
        let change = Change {
            what: row.json_word("what")?,
            rows_before: row.number("rows_before")?,
            kept: row.text_or_null(),
            until_next: row.number::<u8>("until_next")? != 0,
            gone: row.json("gone")?,
        };
        Ok((target, change))
    }

    /// The note that says where the replaced rows of a target are kept.
    pub fn kept_note(&self, run: &RunName, target: &str) -> Option<String> {
        let kept = self.kept.as_ref()?;
        let until = match self.until_next {
            true => " until this package replaces the table with `keep = true` again",
            false => "",
        };
        Some(format!(
            "{} of {target} are kept in {kept}{until}; `inrush undo {run}` puts them back",
            counted(self.rows_before, "replaced row")
        ))
    }
}

/// The error if another object has the name of the table that should keep replaced rows.
pub fn kept_name_is_taken(target: &str, kept: &str, kind: &str) -> Error {
    Error::Unsuitable {
        what: format!(
            "the replaced rows of {target} would be kept in {kept}, but a {kind} with that name exists already"
        ),
        hint: "drop or rename it, or keep them under another name".to_owned(),
    }
}

/// The error of a run that cannot be undone exactly.
pub fn impossible(run: &RunName, what: String, hint: &str) -> Error {
    Error::Unsuitable {
        what: format!("run {run} cannot be undone: {what}; nothing was changed"),
        hint: hint.to_owned(),
    }
}

/// The error if a run is not switched when its undo begins.
pub fn not_switched(run: &RunName) -> Error {
    impossible(
        run,
        "its rows are not in its targets any more".to_owned(),
        "see `inrush status`",
    )
}

/// Notes that a target has rows of a run again. `loaded` has the number of rows of the run in each of its `targets`.
pub fn put_back(loaded: &mut [Option<u64>], targets: &[String], target: &str, rows: u64) {
    for (loaded, name) in loaded.iter_mut().zip(targets) {
        if name == target {
            *loaded = Some(rows);
        }
    }
}

/// The change of a target, among the changes that the ledger has for a run.
pub fn change_of<'a, C>(changes: &'a [(String, C)], run: &RunName, target: &str) -> Result<&'a C> {
    let found = changes.iter().find(|(name, _)| name == target);
    let change = found.map(|(_, change)| change);
    change.ok_or_else(|| not_recorded(run, target))
}

/// The error of a target whose change the ledger does not have.
fn not_recorded(run: &RunName, target: &str) -> Error {
    impossible(
        run,
        format!(
            "the ledger does not record what the run did to {target}, because an earlier version of Inrush made the \
             run"
        ),
        BY_HAND,
    )
}

const BY_HAND: &str = "delete its rows by hand, using the contents of the files";

/// Checks whether one target of a run can be undone.
#[derive(Clone, Copy, Debug)]
pub struct UndoCheck<'a> {
    /// The run.
    pub run: &'a RunName,
    /// The target, as [`TargetName::sql`](crate::TargetName::sql).
    pub target: &'a str,
    /// What the run did to it.
    pub change: &'a Change,
}

impl UndoCheck<'_> {
    /// The error of a target that cannot be restored.
    pub fn impossible(&self, what: String, hint: &str) -> Error {
        impossible(self.run, what, hint)
    }

    /// The number of rows that the run left in the target. Fails if they cannot be distinguished from other rows, or if
    /// the rows that they replaced are gone. `later` is a later run that has loaded into the same target, `loaded` the
    /// number of rows that the ledger has.
    pub fn left_rows(&self, later: Option<&RunName>, loaded: Option<u64>) -> Result<u64> {
        let target = self.target;
        match self.change.what {
            What::Added => {
                return Err(self.impossible(
                    format!(
                        "it added its rows to those of {target}, and they can no longer be told apart"
                    ),
                    BY_HAND,
                ));
            }
            What::Merged => {
                return Err(self.impossible(
                    format!(
                        "it merged its rows into those of {target}, and what it overwrote is not kept"
                    ),
                    "restore the table from a backup: it also overwrote rows that were there before",
                ));
            }
            What::Made | What::Filled | What::Replaced => {}
        }
        if let Some(later) = later {
            return Err(self.impossible(
                format!("run {later} has loaded into {target} since"),
                "undo the later run first, if it can be undone",
            ));
        }
        if self.change.what == What::Replaced && self.change.kept.is_none() {
            let rows = counted(self.change.rows_before, "row");
            return Err(self.impossible(
                format!("it replaced {rows} of {target}, which are not kept"),
                "load the earlier files again; replace = { keep = true } keeps replaced rows",
            ));
        }
        loaded.ok_or_else(|| {
            self.impossible(
                format!("the rows of {target} were replaced or removed since"),
                BY_HAND,
            )
        })
    }

    /// Fails unless the target is a table. `kind` is the object that has the target's name now, in words.
    pub fn require_table(&self, kind: Option<&str>) -> Result<()> {
        match kind {
            Some("table") => Ok(()),
            found => Err(self.impossible(
                format!(
                    "table {} was removed{}",
                    self.target,
                    found.map_or(String::new(), |kind| format!(", and a {kind} is there now"))
                ),
                "what is left of the run has to be removed by hand",
            )),
        }
    }

    /// Fails unless `place`, which is the target or one of its partitions, has as many rows as the run left there.
    pub fn require_rows(&self, place: &str, left: u64, rows: u64) -> Result<()> {
        match rows == left {
            true => Ok(()),
            false => Err(self.impossible(
                format!(
                    "after the run, {place} had {}, but now it has {}: something else has changed it",
                    counted(left, "row"),
                    counted(rows, "row")
                ),
                BY_HAND,
            )),
        }
    }

    /// Fails unless `kept`, the table that keeps the replaced rows, has all of them. `rows` is the number of rows in
    /// `kept`; `None` if `kept` is not a table.
    pub fn require_kept(&self, kept: &str, rows: Option<u64>) -> Result<()> {
        let before = self.change.rows_before;
        match rows == Some(before) {
            true => Ok(()),
            false => Err(self.impossible(
                format!(
                    "{kept}, where it kept {} of {}, was dropped or changed",
                    counted(before, "row"),
                    self.target
                ),
                "load the earlier files again",
            )),
        }
    }

    /// The error of a target whose triggers would fire.
    pub fn has_triggers(&self) -> Error {
        self.impossible(
            format!(
                "{} has triggers, which would fire when its rows are removed and put back",
                self.target
            ),
            "drop the triggers, undo the run, and create them again",
        )
    }
}
