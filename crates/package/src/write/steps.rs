//! The steps and the outputs of a flow, which come after all of its other settings.

use super::toml_text::{inline, line, list, one_or_many, setting, text};
use super::{bounds, mode_word, replace};
use crate::{CheckElse, Output, Step, Unmatched, UnmatchedWord};

/// A step.
pub fn step(out: &mut String, step: &Step) {
    out.push_str("\n[[flow.step]]\n");
    if let Some(derive) = &step.derive {
        setting(out, "derive", &inline(derive));
    }
    let texts = [
        ("where", &step.filter),
        ("check", &step.check),
        ("name", &step.name),
    ];
    for (name, own) in texts {
        if let Some(own) = own {
            setting(out, name, &text(own));
        }
    }
    if let Some(otherwise) = step.otherwise {
        let word = match otherwise {
            CheckElse::Reject => "reject",
            CheckElse::Warn => "warn",
            CheckElse::Fail => "fail",
        };
        setting(out, "else", &text(word));
    }
    if let Some(lookup) = &step.lookup {
        setting(out, "lookup", &inline(lookup));
    }
    for (name, columns) in [("on", &step.on), ("take", &step.take)] {
        if let Some(columns) = columns {
            setting(out, name, &inline(columns));
        }
    }
    if !step.fold.is_empty() {
        one_or_many(out, "fold", &step.fold);
    }
    match &step.unmatched {
        None => {}
        Some(Unmatched::Word(UnmatchedWord::Reject)) => setting(out, "unmatched", &text("reject")),
        Some(Unmatched::Word(UnmatchedWord::Null)) => setting(out, "unmatched", &text("null")),
        Some(Unmatched::Word(UnmatchedWord::Add)) => setting(out, "unmatched", &text("add")),
        Some(Unmatched::Default(default)) => setting(out, "unmatched", &inline(default)),
    }
    if let Some(columns) = &step.distinct_on {
        let columns = columns.iter().map(|column| text(column));
        setting(out, "distinct_on", &list(columns.collect()));
    }
    if let Some(unpivot) = &step.unpivot {
        setting(out, "unpivot", &inline(unpivot));
    }
    if let Some(bytes) = step.memory_bytes_max {
        setting(out, "memory_bytes_max", &bytes.to_string());
    }
    if let Some(load) = step.load {
        setting(out, "load", &load.to_string());
    }
}

/// Checks as comments, which become steps without their `#`.
pub fn proposed(out: &mut String, checks: &[Step]) {
    if checks.is_empty() {
        return;
    }
    out.push_str(
        "\n# All rows that were read pass these checks. Remove the # before each check that must hold.\n",
    );
    for check in checks {
        let mut text = String::new();
        step(&mut text, check);
        for line_of_step in text.trim_start().lines() {
            line(out, &format!("# {line_of_step}"));
        }
    }
}

/// An output.
pub fn output(out: &mut String, output: &Output) {
    out.push_str("\n[[flow.output]]\n");
    if let Some(when) = &output.when {
        setting(out, "when", &text(when));
    }
    setting(out, "table", &text(&output.table));
    if let Some(column) = &output.partition_by {
        setting(out, "partition_by", &text(column));
    }
    if let Some(own) = &output.bounds {
        setting(out, "bounds", &bounds(own).unwrap_or_else(|| text("data")));
    }
    if let Some(mode) = output.mode {
        setting(out, "mode", &text(mode_word(mode)));
    }
    if let Some(own) = &output.key {
        one_or_many(out, "key", own);
    }
    if let Some(scd) = &output.scd {
        setting(out, "scd", &inline(scd));
    }
    if let Some(own) = &output.replace {
        setting(out, "replace", &replace(own));
    }
}
