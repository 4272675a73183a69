//! The plan in words: what `inrush check` prints, and the statements that a run runs.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use inrush_package::LoadOrder;
use inrush_rows::plural::counted;
use inrush_rows::quantity::bytes;
use inrush_rows::told;

use super::{
    Commit, Earlier, FlowPlan, Plan, Publish, UnitPlan, WireForm, replace, statistics,
    switch_statements,
};
use crate::engine::plan::plan_text::{
    TARGET_LOADED, dialect_words, reject_limit, size_words, split_words,
};
use crate::engine::plan::{column_text, typed_rows};
use crate::quote::{identifier, qualified};
use crate::staging;

/// Units of a flow that are printed whole; of more, the rest is counted.
const UNITS_SHOWN: usize = 3;

impl Plan {
    /// Sees every statement that changes something, in order. Values that only the load can tell stand in angle brackets.
    pub fn each_statement(&self, see: &mut dyn FnMut(&str)) {
        self.setup.iter().for_each(|statement| see(statement));
        for flow in &self.flows {
            for unit in &flow.units {
                let statements = unit_statements(self, flow, unit);
                statements.iter().for_each(|statement| see(statement));
            }
        }
        let switch = self.switch_statements();
        switch.iter().for_each(|statement| see(statement));
    }

    /// The statements of the switch.
    pub fn switch_statements(&self) -> Vec<String> {
        let mut statements = match self.is_one_transaction() {
            // It was begun before the rows.
            true => Vec::new(),
            false => vec!["BEGIN".to_owned()],
        };
        for flow in &self.flows {
            statements.extend(switch_statements::template(
                flow,
                &self.settings.staging_schema,
            ));
        }
        statements.push("COMMIT".to_owned());
        let analyze = |flow| statistics::of_target(self, flow);
        statements.extend(self.flows.iter().filter_map(analyze));
        statements
    }
}

/// A unit may be made of a hundred thousand files: what is the same for each of them is not copied.
fn unit_statements<'a>(plan: &'a Plan, flow: &FlowPlan, unit: &'a UnitPlan) -> Vec<Cow<'a, str>> {
    const BEGIN: Cow<'static, str> = Cow::Borrowed("BEGIN");
    const COMMIT: Cow<'static, str> = Cow::Borrowed("COMMIT");
    let copy = || Cow::Borrowed(unit.copy.as_str());
    if flow.commits_at_switch() {
        let is_first = plan
            .flows
            .first()
            .is_some_and(|first| first.name == flow.name);
        let begin = is_first.then_some(BEGIN);
        let copies = unit.splits.iter().map(|_| copy());
        return begin.into_iter().chain(copies).collect();
    }
    let mut statements = vec![BEGIN];
    if flow.is_straight() {
        for split in 0..unit.splits.len() {
            if split > 0 {
                statements.push(BEGIN);
            }
            statements.extend([copy(), COMMIT]);
        }
        return statements;
    }
    statements.extend(unit.create.iter().map(Cow::from));
    if unit.shared {
        statements.push(COMMIT);
        for _ in &unit.splits {
            statements.extend([BEGIN, copy(), COMMIT]);
        }
        statements.push(BEGIN);
    } else {
        statements.extend(unit.splits.iter().map(|_| copy()));
    }
    statements.push(Cow::from(&unit.measure));
    statements.extend(unit.verify.iter().map(Cow::from));
    if let (Some(key), None) = (&flow.key, &unit.bounds) {
        let check = format!(
            "ALTER TABLE {} ADD CONSTRAINT {} CHECK ({key_column} IS NOT NULL AND {key_column} >= \
             <smallest key> AND {key_column} <= <largest key>)",
            qualified(&plan.settings.staging_schema, &unit.staging_table),
            identifier(staging::BOUNDS_CHECK),
            key_column = identifier(&key.column),
        );
        statements.push(Cow::from(check));
    }
    statements.extend(unit.ready.iter().map(Cow::from));
    statements.extend(
        statistics::of_unit(plan, flow, unit)
            .into_iter()
            .map(Cow::from),
    );
    statements.push(COMMIT);
    statements
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        told!(
            f,
            "Package      {} ({})",
            self.package,
            &self.package_hash[..12]
        )?;
        told!(f, "Destination  {}", self.destination)?;
        told!(
            f,
            "Server       PostgreSQL {}, wal_level = {}",
            self.server.version,
            self.server.wal_level
        )?;
        told!(
            f,
            "Streams      {}, each with one connection; one more connection for the ledger and \
             the switch",
            self.streams
        )?;
        if self.settings.order == LoadOrder::Package {
            told!(
                f,
                "Order        flow by flow, as the package has them; of each the largest units first"
            )?;
        }
        told!(
            f,
            "Memory       at most {} ({}, {} for each stream{}){}",
            bytes(self.memory.total()),
            self.memory.beside_streams(),
            bytes(self.memory.stream_bytes),
            match (self.memory.feed_bytes, self.memory.row_group_bytes) {
                (0, 0) => String::new(),
                (0, row_group_bytes) => format!(
                    ", {} for the row groups that they decode",
                    bytes(row_group_bytes)
                ),
                (feed_bytes, _) =>
                    format!(", {} for the reader that feeds them", bytes(feed_bytes)),
            },
            format_args!(
                "; a stream that meets a very long record up to {} more",
                bytes(self.memory.long_record_bytes)
            )
        )?;
        told!(
            f,
            "Locks        about {} in the switch; the server has room for {}",
            self.locks_needed,
            self.server.locks_max
        )?;
        if let Some(disk) = &self.disk {
            let has_pipe = self
                .flows
                .iter()
                .flat_map(|flow| &flow.units)
                .flat_map(|unit| &unit.splits)
                .any(|split| split.file.is_pipe());
            let text = match (has_pipe, disk.text_bytes) {
                (false, known) => format!("{} of text to store", bytes(known)),
                (true, 0) => "text of unknown size to store".to_owned(),
                (true, known) => format!("{} of text to store, and what pipes bring", bytes(known)),
            };
            told!(
                f,
                "Disk         {text}; {} free at {}",
                bytes(disk.free_bytes),
                disk.folder.display()
            )?;
        }
        match &self.earlier {
            Earlier::None => {}
            Earlier::Loaded(run) => told!(
                f,
                "Earlier      loaded already by run {} ({}); nothing is left to do",
                run.name,
                run.switched_at.as_deref().unwrap_or("?")
            )?,
            Earlier::Stopped {
                run, kept, dropped, ..
            } => told!(
                f,
                "Earlier      run {} stopped (begun {}): {} kept{}",
                run.name,
                run.started_at,
                counted(kept.len() as u64, "unit"),
                if *dropped > 0 {
                    format!(", {dropped} dropped since files or settings changed")
                } else {
                    String::new()
                }
            )?,
        }
        for flow in &self.flows {
            self.fmt_flow(f, flow)?;
        }
        told!(f, "\nPrivileges of {}", self.server.role)?;
        for privilege in &self.privileges {
            told!(
                f,
                "  {}  {}, for {}",
                if privilege.held { "held   " } else { "MISSING" },
                privilege.what,
                privilege.needed_for
            )?;
        }
        if !self.setup.is_empty() {
            told!(f, "\nSet-up, once")?;
            for statement in &self.setup {
                told!(f, "  {statement};")?;
            }
        }
        told!(f, "\nSwitch, all of it in one transaction")?;
        for statement in shortened(&self.switch_statements()) {
            told!(f, "  {statement}")?;
        }
        if !self.notes.is_empty() {
            told!(f, "\nGood to know")?;
            for note in &self.notes {
                told!(f, "  - {note}")?;
            }
        }
        Ok(())
    }
}

impl Plan {
    fn fmt_flow(&self, f: &mut fmt::Formatter<'_>, flow: &FlowPlan) -> fmt::Result {
        let total: u64 = flow.units.iter().map(|unit| unit.bytes_count).sum();
        let splits = flow.units.iter().flat_map(|unit| &unit.splits);
        // The ranges of a file stand one after the other.
        let mut files: Vec<_> = splits.map(|split| &split.file).collect();
        files.dedup_by(|file, before| Arc::ptr_eq(file, before));
        let file_count = files.len();
        told!(f, "\nFlow {} -> {}", flow.name, flow.target())?;
        told!(
            f,
            "  {}, {}, {}",
            counted(file_count as u64, "file"),
            size_words(total, files.iter().any(|file| file.is_pipe())),
            dialect_words(flow)
        )?;
        let becomes = match &flow.publish {
            _ if matches!(self.earlier, Earlier::Loaded(_)) => TARGET_LOADED,
            Publish::Attach if flow.replace.is_some() => {
                "the target exists; partitions are attached in place of others"
            }
            Publish::CreatePartitioned { .. } => "the target is made, partitioned by range",
            Publish::Attach => "the target exists; its partitions are attached",
            Publish::Swap => "the target exists; a new table takes its place",
            Publish::Upsert { .. } => "the target exists; rows are merged into it by the key",
            Publish::Insert if flow.replace.is_some() => {
                "the target exists; new rows take the place of all that it has"
            }
            Publish::Straight(Commit::EachSplit) => {
                "the target exists; rows go straight into it as they come, seen at once \
                 (atomic = false)"
            }
            Publish::Straight(Commit::AtSwitch) => {
                "the target exists; rows go straight into it, in the transaction that makes them \
                 seen (staging = false)"
            }
            Publish::Rename => "the target is made: its staging table becomes it",
            Publish::Insert => "the target exists and is plain; rows are copied into it",
            Publish::Route(route) if route.is_new => {
                "the target is made: its staging table and the partitions of that become it"
            }
            Publish::Route(_) => {
                "the target exists; the switch copies rows into the partitions that it has, and \
                 attaches those that it has not"
            }
        };
        told!(f, "  {becomes}")?;
        if let Some(replace) = &flow.replace {
            for line in replace::words(replace, &flow.target(), &self.settings.staging_schema) {
                told!(f, "  {line}")?;
            }
        }
        if let Some(key) = &flow.key {
            told!(
                f,
                "  partitioned by {} ({}): {}",
                identifier(&key.column),
                key.type_sql,
                key.rule
            )?;
        }
        if let Publish::Route(route) = &flow.publish {
            told!(f, "  {}", route.words())?;
        }
        match &flow.wire {
            WireForm::Binary(_) => told!(f, "  rows go by binary COPY")?,
            WireForm::Text { reason } => {
                told!(f, "  rows go by COPY in text form: {reason}")?;
            }
        }
        told!(f, "  rejects: {}", reject_limit(&flow.reject_limit))?;
        if flow.has_pipes() {
            told!(f, "  pipes: {}", kept_pipes(flow))?;
        }
        for line in flow
            .comparison
            .words()
            .into_iter()
            .chain(flow.expect.words())
        {
            told!(f, "  {line}")?;
        }
        let mut columns = String::new();
        for (column, type_sql) in flow.columns.iter().zip(&flow.column_types) {
            let not_null = if column.nullable { "" } else { " not null" };
            write!(columns, "{}{type_sql}{not_null}", separator(&columns))?;
            let at = columns.len() - type_sql.len() - not_null.len();
            columns.insert_str(at, &format!("{} ", identifier(&column.name)));
        }
        told!(f, "  columns: {columns}")?;
        for line in column_text::lines(&flow.columns, flow.field_count) {
            told!(f, "    {line}")?;
        }
        let file = files.first().map(|file| &***file);
        if let Some(line) = typed_rows::words(flow, file) {
            told!(f, "    {line}")?;
        }
        for unit in flow.units.iter().take(UNITS_SHOWN) {
            self.fmt_unit(f, flow, unit)?;
        }
        if flow.units.len() > UNITS_SHOWN {
            told!(
                f,
                "  ... and {} more of the same form",
                counted((flow.units.len() - UNITS_SHOWN) as u64, "unit")
            )?;
        }
        Ok(())
    }

    fn fmt_unit(
        &self,
        f: &mut fmt::Formatter<'_>,
        flow: &FlowPlan,
        unit: &UnitPlan,
    ) -> fmt::Result {
        let kind = if flow.commits_at_switch() {
            "straight: filled by one stream in the transaction of the switch, without FREEZE"
        } else if flow.is_straight() {
            "straight: each split in a transaction of its own with its ledger row, without FREEZE"
        } else if unit.shared {
            "shared by streams: its table is committed first, each split in a transaction of its \
             own, without FREEZE"
        } else if matches!(flow.publish, Publish::Route(_)) {
            "private: made, filled and committed by one stream in one transaction; COPY into a \
             partitioned table knows no FREEZE"
        } else if self.settings.freeze {
            "private: made, filled and committed by one stream in one transaction, with FREEZE"
        } else {
            "private: made, filled and committed by one stream in one transaction"
        };
        told!(
            f,
            "  unit {} ({}), {kind}",
            unit.number,
            size_words(
                unit.bytes_count,
                unit.splits.iter().any(|split| split.file.is_pipe())
            )
        )?;
        for split in unit.splits.iter().take(UNITS_SHOWN) {
            told!(f, "    from {}", split_words(split))?;
        }
        if unit.splits.len() > UNITS_SHOWN {
            told!(f, "    ... and {} more", unit.splits.len() - UNITS_SHOWN)?;
        }
        for statement in shortened(&unit_statements(self, flow, unit)) {
            told!(f, "    {statement}")?;
        }
        Ok(())
    }
}

/// Statements for reading; a long list is shown by its ends.
fn shortened(statements: &[impl fmt::Display]) -> Vec<String> {
    const SHOWN: usize = 24;
    if statements.len() <= SHOWN {
        return statements.iter().map(with_end).collect();
    }
    let half = SHOWN / 2;
    let mut lines: Vec<String> = statements[..half].iter().map(with_end).collect();
    lines.push(format!(
        "... {} more of the same forms (--json prints all)",
        statements.len() - SHOWN
    ));
    lines.extend(statements[statements.len() - half..].iter().map(with_end));
    lines
}

fn with_end(statement: &impl fmt::Display) -> String {
    format!("{statement};")
}

fn separator(before: &str) -> &'static str {
    if before.is_empty() { "" } else { ", " }
}

/// What becomes of what was read of a pipe.
fn kept_pipes(flow: &FlowPlan) -> &'static str {
    match flow.keeps_pipes() {
        true => {
            "what they bring is kept in the run's folder until the load is done, as long as its disk \
             has 1 GiB left, so that rows which the server refuses are rejects"
        }
        false => "read once: the first row that the server refuses ends the load",
    }
}
