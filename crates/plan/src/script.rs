//! The script of a plan: what `inrush check --sql` prints. It has the steps of the plan in order. A step that a script cannot
//! perform is a comment, so the script can be run: it makes the tables of a load without rows.

use std::fmt::{self, Write};

use inrush_destination::{Action, StatementEnd, Step, Times};
use inrush_rows::printable::escaped;

use crate::load_plan::PlanFacts;

const NOTHING_LEFT: &str = "Nothing is left to load, so a run does nothing.";

const HEAD: &str = "\
A statement is a comment if a script cannot run it: the run sends rows after it, runs it only under a condition, or puts
values into it that are not known yet (words in angle brackets). So this script loads no rows and enters no run into the
ledger. A name with angle brackets stands for the name that the run chooses. Run the script only in an empty database or a
copy: it replaces tables with empty ones, and it runs the statements of `pre_sql` and `post_sql`.";

const BATCHES: &str = "\
Run it with `sqlcmd -x -b -i FILE`: `-x` leaves `$(...)` in a statement as it is, and `-b` stops at the first error.";

const NO_SQL: &str = "This destination is loaded without SQL, so there is no statement.";

/// A part of a script: what its steps are for, and the steps.
pub struct ScriptPart {
    heading: String,
    steps: Vec<Step>,
}

impl ScriptPart {
    /// A part with these steps. It is left out of a script if it has none.
    pub fn new(heading: impl Into<String>, steps: impl Into<Vec<Step>>) -> ScriptPart {
        ScriptPart {
            heading: heading.into(),
            steps: steps.into(),
        }
    }
}

/// Writes a script, part by part. `has_sql` is false if the destination is loaded without statements. A plan with nothing
/// left to load has no parts.
pub fn fmt_script(
    f: &mut fmt::Formatter<'_>,
    facts: &PlanFacts,
    has_sql: bool,
    end: StatementEnd,
    parts: Option<impl Iterator<Item = ScriptPart>>,
) -> fmt::Result {
    fmt_comment(f, &format!("Package {}", facts.package))?;
    fmt_comment(f, &format!("Destination {}", facts.destination))?;
    fmt_comment(f, if has_sql { HEAD } else { NO_SQL })?;
    if has_sql && end == StatementEnd::Batch {
        fmt_comment(f, BATCHES)?;
    }
    let Some(parts) = parts else {
        return fmt_heading(f, NOTHING_LEFT);
    };
    for ScriptPart { heading, steps } in parts.filter(|part| !part.steps.is_empty()) {
        fmt_heading(f, &heading)?;
        let mut steps = steps.iter();
        steps.try_for_each(|step| fmt_script_step(f, step, end))?;
    }
    Ok(())
}

fn fmt_heading(f: &mut fmt::Formatter<'_>, words: &str) -> fmt::Result {
    f.write_char('\n')?;
    fmt_comment(f, words)
}

/// Writes a step: a statement, or a comment if a script cannot perform it.
fn fmt_script_step(f: &mut fmt::Formatter<'_>, step: &Step, end: StatementEnd) -> fmt::Result {
    let (Action::Statement(sql), Times::Once) = (&step.action, &step.times) else {
        let text = step.to_string();
        // A step without a statement is written as a comment already.
        return fmt_comment(f, text.strip_prefix("-- ").unwrap_or(&text));
    };
    let sql = sql.trim_end();
    f.write_str(sql)?;
    // The user's own statement may end with a comment, which would swallow the semicolon.
    let ends_with_comment = sql
        .lines()
        .next_back()
        .is_some_and(|line| line.contains("--"));
    f.write_str(if ends_with_comment { "\n;\n" } else { ";\n" })?;
    match end {
        StatementEnd::Semicolon => Ok(()),
        StatementEnd::Batch => f.write_str("GO\n"),
    }
}

/// Writes a text as comments. No line break in it, such as one in a quoted name, ends the comment.
fn fmt_comment(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for line in escaped(text).lines() {
        writeln!(f, "-- {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shown(Step, StatementEnd);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt_script_step(f, &self.0, self.1)
        }
    }

    #[test]
    fn steps_are_statements_or_comments() {
        use StatementEnd::{Batch, Semicolon};
        for (step, end, text) in [
            (Step::statement("BEGIN"), Semicolon, "BEGIN;\n"),
            (Step::statement("SELECT 1"), Batch, "SELECT 1;\nGO\n"),
            (
                Step::statement("DELETE FROM t -- all"),
                Semicolon,
                "DELETE FROM t -- all\n;\n",
            ),
            (
                Step::statement("DELETE FROM t\n-- all\n"),
                Batch,
                "DELETE FROM t\n-- all\n;\nGO\n",
            ),
            (
                Step::statement("DROP TABLE \"a\nb\"").only_if("it is there"),
                Semicolon,
                "-- DROP TABLE \"a\n-- b\"; -- if it is there\n",
            ),
            (
                Step::sketch("COPY t FROM STDIN").repeated("3 times"),
                Semicolon,
                "-- COPY t FROM STDIN; -- 3 times\n",
            ),
            (
                Step::sketch("SELECT \"a\rb\", <run>"),
                Semicolon,
                "-- SELECT \"a\\rb\", <run>;\n",
            ),
            (Step::other("write a file"), Batch, "-- write a file\n"),
            (
                Step::other("write a file").only_if("it is missing"),
                Semicolon,
                "-- write a file, if it is missing\n",
            ),
        ] {
            assert_eq!(Shown(step, end).to_string(), text);
        }
    }
}
