//! Makes the plan of one flow: its files, its columns, its key, its units.

use std::sync::Arc;

use inrush_convert::{KeyValue, convert_first};
use inrush_files::{Preview, SourceFile, Split};
use inrush_package::{Bounds, Flow, Mode, Package, UncheckedTypes, Verify};
use inrush_rows::column::{Column, ColumnType};
use inrush_scan::Dialect;

use super::routing::{self, KeyScans};
use super::switch_statements::expression;
use super::target::{self, Asked};
use super::{
    Commit, FlowPlan, KeyKind, KeyPlan, Publish, bounds, columns, identity, parts, replace, units,
    upsert,
};
use crate::engine::plan::columns::KnownColumns;
use crate::engine::plan::error::PlanError;
use crate::engine::plan::flow_files::FlowFiles;
use crate::engine::plan::options::PlanOptions;
use crate::engine::plan::user_sql::statements;
use crate::engine::plan::{Reading, expect};
use crate::engine::verify::VerifyPlan;
use crate::quote::qualified;
use crate::ranges::{self, PartitionRange};
use crate::server_facts::ServerFacts;
use crate::staging::{Model, Storage};
use crate::verify::{ComparedColumn, Comparison};
use crate::{Session, catalog, default_grants, swap, verify};

/// Makes the plan of one flow.
pub struct FlowPlanner<'a> {
    /// Asks the catalog.
    pub session: &'a Session,
    /// What the server says of itself.
    pub server: &'a ServerFacts,
    /// The package.
    pub package: &'a Package,
    /// What is known beside it.
    pub options: &'a PlanOptions<'a>,
    /// What passes over the files have found.
    pub key_scans: &'a KeyScans,
    /// The flow.
    pub flow: &'a Flow,
    /// The run's key.
    pub run_key: &'a str,
    /// The target's schema.
    pub schema: &'a str,
    /// The target's name.
    pub table: &'a str,
}

impl FlowPlanner<'_> {
    /// Whether rows go straight into the target, and when they are committed then.
    fn straight(&self) -> Option<Commit> {
        match (self.flow.atomic, self.package.run.staging) {
            (false, _) => Some(Commit::EachSplit),
            (true, false) => Some(Commit::AtSwitch),
            (true, true) => None,
        }
    }

    /// The note, or the refusal, about columns whose values the server may change silently.
    fn unchecked(&self, name: &str, columns: &[String]) -> Result<Option<String>, PlanError> {
        if columns.is_empty() {
            return Ok(None);
        }
        let what = format!(
            "the server may silently round, cut or rewrite values of {}, because only it reads {} text",
            columns.join(", "),
            if columns.len() == 1 { "its" } else { "their" }
        );
        match self.package.run.unchecked_types {
            UncheckedTypes::Warn => Ok(Some(format!(
                "{}: {what}; unchecked_types = \"refuse\" in [run] refuses such columns",
                qualified(self.schema, self.table)
            ))),
            UncheckedTypes::Refuse => Err(PlanError::Mismatch {
                flow: name.to_owned(),
                what,
                hint:
                    "make them text and convert them with post_sql, or load them as they are with \
                       unchecked_types = \"warn\" in [run]"
                        .to_owned(),
            }),
        }
    }

    /// The plan; what a user should know is added to `notes`.
    pub async fn plan(&self, notes: &mut Vec<String>) -> Result<FlowPlan, PlanError> {
        let name = self
            .flow
            .name
            .clone()
            .unwrap_or_else(|| self.table.to_owned());
        let facts = catalog::target(self.session, self.schema, self.table).await?;
        let partition_by = self.flow.partition_column()?;
        let tree = routing::tree(self.session, facts.as_ref()).await?;
        // The other modes have ways of their own into partitions.
        let can_be_routed = matches!(self.flow.mode, Mode::Create | Mode::Append)
            && self.straight().is_none()
            && !self.options.is_replay;
        if self.flow.routing == Some(true) && !can_be_routed && !self.options.is_replay {
            return Err(PlanError::Mismatch {
                flow: name,
                what:
                    "routing = true goes with mode = \"create\" and \"append\", where rows wait in \
                       staging tables"
                        .to_owned(),
                hint:
                    "leave `routing` out: with `atomic = false`, `staging = false` and \"upsert\" \
                       the server routes the rows itself"
                        .to_owned(),
            });
        }
        let is_routed =
            can_be_routed && routing::is_wanted(self.flow.routing, facts.as_ref(), tree.as_ref());
        let asked = Asked {
            copied_into_partitions: self.options.is_replay
                && facts
                    .as_ref()
                    .is_some_and(|facts| facts.partitioning.is_some()),
            routed: is_routed,
            schema: self.schema,
            table: self.table,
            mode: self.flow.mode,
            straight: self.straight(),
            partition_by: partition_by.as_deref(),
            triggers: self.flow.triggers,
            indexes: self.flow.indexes,
        };
        let mut facts = facts;
        if self.options.is_replay
            && let Some(facts) = &mut facts
        {
            // The server routes the rows of a table that is partitioned in whatever way.
            facts.partitioning = None;
        }
        notes.extend(target::check(&asked, facts.as_ref())?);
        if is_routed {
            let target = qualified(self.schema, self.table);
            routing::check(&target, &asked, facts.as_ref(), tree.as_ref(), notes)?;
        }

        let target_columns = facts.as_ref().map(columns::names);
        let filled = target_columns.as_ref().map(|names| names.filled.as_slice());
        let mut read = FlowFiles::find(self.flow, &name, self.options, filled, notes)?;

        let key_name = facts
            .as_ref()
            .and_then(|facts| facts.partitioning.as_ref())
            .filter(|_| self.straight().is_none() && self.flow.mode != Mode::Upsert)
            .and_then(|partitioning| match partitioning.key.as_slice() {
                [Some(key)] if partitioning.strategy == 'r' => Some(key.clone()),
                _ => None,
            })
            .or(partition_by.filter(|_| !is_routed || facts.is_none()));
        let target = qualified(self.schema, self.table);
        let known = KnownColumns {
            // A default partition takes rows without a key.
            key: key_name
                .as_deref()
                .filter(|_| !is_routed || facts.is_none()),
            ..read.known(self.flow, &name, &target, target_columns.as_ref())
        };
        let mut resolved = columns::resolve(self.session, &known, facts.as_ref()).await?;
        read.settle(&name, &mut resolved.columns, resolved.field_count)?;
        notes.extend(self.unchecked(&name, &resolved.unchecked)?);
        let asks_bounds = matches!(self.flow.bounds, Bounds::List(_) | Bounds::Every(_));
        let key = match &key_name {
            // Rows are routed into partitions that exist by any key.
            Some(_) if is_routed && facts.is_some() && !asks_bounds => None,
            Some(column) => Some(self.key_plan(&name, column, &resolved, facts.as_ref())?),
            None => None,
        };

        let model = match &facts {
            Some(facts) => Model::Target {
                schema: self.schema.to_owned(),
                name: self.table.to_owned(),
                storage: storage(facts),
            },
            None => Model::Columns(resolved.new_columns.clone()),
        };
        let default_grants = default_grants::of_schema(self.session, self.schema).await?;
        let mut taken = catalog::relation_names(self.session, self.schema, None).await?;
        let (key, made_key) = if is_routed { (None, key) } else { (key, None) };
        let mut publish = if is_routed {
            let asking = routing::Asking {
                session: self.session,
                options: self.options,
                key_scans: self.key_scans,
                flow: &name,
                schema: self.schema,
                table: self.table,
                facts: facts.as_ref(),
                tree: tree.as_ref(),
                bounds: &self.flow.bounds,
                key: made_key.as_ref(),
                triggers: self.flow.triggers,
                columns: &resolved.columns,
                field_count: resolved.field_count,
                files: &read.files,
                dialect: &read.dialect,
            };
            let mut names = units::PartitionNames::new(self.table, &taken);
            Publish::Route(routing::route(&asking, &mut names, notes).await?)
        } else {
            target::publish(
                facts.as_ref(),
                self.flow,
                self.straight(),
                key_name.as_deref(),
                resolved.new_columns.clone(),
            )
        };
        if self.flow.mode == Mode::Upsert {
            let key = self.flow.key_columns()?;
            let columns: Vec<String> = resolved.columns.iter().map(|c| c.name.clone()).collect();
            let place = (self.schema, self.table);
            upsert::check(self.session, &name, place, &columns, &key).await?;
            publish = Publish::Upsert { key };
        }
        let comparison = Arc::new(self.comparison(&resolved).await?);
        if let (Publish::Straight(commit), false) = (&publish, comparison.level == Verify::Count) {
            let setting = commit.setting();
            return Err(PlanError::Mismatch {
                flow: name,
                what: format!(
                    "the rows go straight into a table that holds others ({setting}), so sums and \
                     hashes of the table say nothing of them"
                ),
                hint: format!("use verify = \"count\", or leave {setting} out"),
            });
        }
        let types = resolved.type_sql.iter();
        let mut verify = VerifyPlan::new(&resolved.columns, types, comparison.sums());
        verify.summed = expect::places(&name, &expect::summed(self.flow), &verify)?;
        let expected = expect::plan(
            self.flow,
            &name,
            self.options.folder,
            &read.files,
            read.delimiter(),
        )?;
        let file_names: Vec<String> = read
            .files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect();
        let intervals = match &key {
            Some(key) if matches!(self.flow.bounds, Bounds::List(_) | Bounds::Every(_)) => {
                let column = &resolved.columns[key.column_index];
                let first_keys = first_keys(&name, &read.files, &read.dialect, column)?;
                bounds::place(
                    self.session,
                    &name,
                    key,
                    &self.flow.bounds,
                    &first_keys,
                    &file_names,
                    // A new target gets all that its package lists; one that exists may have the
                    // others already.
                    facts.is_none(),
                )
                .await?
            }
            _ => Vec::new(),
        };
        let mut replace = None;
        let mut overlap = None;
        let mut fit_out = Vec::new();
        if let (Mode::Replace, None, Some(facts)) = (self.flow.mode, &key, &facts) {
            let session = self.session;
            let planned = replace::of_plain(session, &self.flow.replace, &target, facts);
            replace = Some(planned.await?);
            if let Publish::Swap { dress } = &mut publish {
                *dress = swap::dress(session, facts.oid, &target).await?;
                fit_out = swap::fit_out(session, facts.oid, "<staging>").await?;
            }
        }
        if let (Some(key), Some(facts)) = (&key, &facts) {
            let asked = ranges_of(&intervals);
            if self.flow.mode == Mode::Replace {
                let package = &self.flow.replace;
                let session = self.session;
                let planned = replace::of_partitions(session, package, &target, facts, key, &asked);
                replace = Some(planned.await?);
            } else {
                overlap = self.overlap(key, facts, &asked).await?;
            }
        }
        let parts = match (&key, &self.flow.bounds) {
            (Some(key), Bounds::Parts(asked)) => {
                let column = &resolved.columns[key.column_index];
                let stop = self.options.pipes.stop();
                parts::cut(
                    &name,
                    &read.files,
                    &read.dialect,
                    column,
                    asked.parts,
                    stop,
                    notes,
                )?
            }
            _ => Vec::new(),
        };
        let splits: Vec<Split> = if parts.is_empty() {
            read.files.into_iter().map(Split::whole).collect()
        } else {
            parts.iter().map(|part| part.split.clone()).collect()
        };
        let shape = identity::Shape {
            target: &target,
            dialect: &read.dialect,
            encoding: self.flow.format.encoding.as_deref(),
            columns: &resolved.columns,
            type_sql: &resolved.type_sql,
            wire: &resolved.wire,
            key: key_name.as_deref(),
            existing: facts
                .as_ref()
                .map(|facts| (facts.structure.as_str(), facts.indexes.as_slice())),
            model: &model,
            publish: &publish,
            level: comparison.level,
            trailer: self.flow.trailer.as_ref(),
            summed: &verify.summed,
        };
        let shape = shape.describe();
        // The names of partitions that go are free when theirs are given.
        for old in replace.iter().flat_map(|replace| &replace.old) {
            if old.schema == self.schema && !old.is_default() {
                taken.remove(&old.name);
            }
        }
        let common = units::Common {
            flow: &name,
            schema: self.schema,
            table: self.table,
            run_key: self.run_key,
            shape: &shape,
            staging_schema: &self.package.run.staging_schema,
            model: &model,
            columns: &resolved.columns,
            wire: &resolved.wire,
            key: key.as_ref(),
            facts: facts.as_ref(),
            publish: &publish,
            taken: &taken,
            freeze: self.package.run.freeze,
            comparison: &comparison,
        };
        let mut units = units::group(&common, splits, &intervals)?;
        if let Publish::Route(route) = &publish {
            let set = routing::key_set(
                self.session,
                &target,
                route,
                facts.as_ref(),
                made_key.as_ref(),
                &resolved.columns,
            )
            .await?;
            for unit in &mut units {
                routing::apply(unit, &common, route);
                unit.key_set.clone_from(&set);
            }
        }
        for unit in &mut units {
            let staging = qualified(&self.package.run.staging_schema, &unit.staging_table);
            let own = fit_out
                .iter()
                .map(|sql| sql.replacen("<staging>", &staging, 1));
            unit.create.extend(own);
        }
        if let Some(key) = &key {
            for (unit, part) in units.iter_mut().zip(&parts) {
                parts::bound(unit, key, part);
            }
        }
        let reading = Reading {
            target,
            columns: resolved.columns,
            field_count: resolved.field_count,
            header: read.header,
            dialect: read.dialect,
            format: read.format,
            reject_hint: read.reject_hint,
            reject_limit: self.flow.rejects,
            verify,
            expect: expected,
            name,
        };
        Ok(FlowPlan {
            reading,
            comparison,
            schema: self.schema.to_owned(),
            table: self.table.to_owned(),
            facts,
            mode: self.flow.mode,
            publish,
            replace,
            pre_sql: statements(&self.flow.pre_sql),
            post_sql: statements(&self.flow.post_sql),
            model,
            default_grants,
            indexes: self.flow.indexes,
            column_types: resolved.type_sql,
            wire: resolved.wire,
            key,
            units,
            turn: 0,
            overlap,
        })
    }

    /// What is compared. The server's hash is tried before it is relied on.
    async fn comparison(
        &self,
        resolved: &columns::ResolvedColumns,
    ) -> Result<Comparison, PlanError> {
        let level = self.flow.verify.unwrap_or(self.package.run.verify);
        let is_utf8 = self.server.is_utf8;
        if level == Verify::Rows {
            let (statement, expected) = verify::self_test(is_utf8);
            let rows = self
                .session
                .query(&statement, &[], "trying the hash")
                .await?;
            let found: i64 = rows[0].get(0);
            if found != expected {
                return Err(PlanError::Mismatch {
                    flow: self.table.to_owned(),
                    what: format!(
                        "the server hashes rows otherwise than PostgreSQL on this machine does \
                         ({found}, and not {expected})"
                    ),
                    hint: "use verify = \"sums\"".to_owned(),
                });
            }
        }
        let columns = resolved.columns.iter().zip(&resolved.forms);
        Ok(Comparison {
            level,
            is_utf8,
            columns: columns
                .zip(&resolved.type_sql)
                .map(|((column, form), type_sql)| ComparedColumn {
                    name: column.name.clone(),
                    form: *form,
                    type_sql: type_sql.clone(),
                })
                .collect(),
        })
    }

    fn key_plan(
        &self,
        flow: &str,
        column: &str,
        resolved: &columns::ResolvedColumns,
        facts: Option<&catalog::TableFacts>,
    ) -> Result<KeyPlan, PlanError> {
        let mismatch = |what: String, hint: &str| PlanError::Mismatch {
            flow: flow.to_owned(),
            what,
            hint: hint.to_owned(),
        };
        let column_index = resolved
            .columns
            .iter()
            .position(|known| known.name == column)
            .ok_or_else(|| {
                mismatch(
                    format!("the files have no column `{column}`, which is the partition key"),
                    "partition_by names one of the columns of the files",
                )
            })?;
        let kind = match &resolved.columns[column_index].column_type {
            ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => KeyKind::Integer,
            ColumnType::Date => KeyKind::Date,
            ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => KeyKind::Timestamp,
            ColumnType::Text { characters_max, .. } => KeyKind::Text {
                characters_max: *characters_max,
            },
            _ => {
                return Err(mismatch(
                    format!(
                        "the partition key `{column}` has the type {}",
                        resolved.type_sql[column_index]
                    ),
                    "keys are integers, dates, timestamps or texts",
                ));
            }
        };
        Ok(KeyPlan {
            column: column.to_owned(),
            column_index,
            collation: facts
                .and_then(|facts| facts.columns.iter().find(|known| known.name == column))
                .and_then(|known| known.collation.clone()),
            type_sql: resolved.type_sql[column_index].clone(),
            kind,
            rule: bounds::rule(&self.flow.bounds),
        })
    }

    /// Declared bounds that partitions of the target have already.
    async fn overlap(
        &self,
        key: &KeyPlan,
        facts: &catalog::TableFacts,
        asked: &[PartitionRange],
    ) -> Result<Option<String>, PlanError> {
        let existing = ranges::existing(facts);
        let found = ranges::overlap(self.session, &key.comparable_type(), asked, &existing).await?;
        Ok(found.map(|(asked, existing)| {
            format!("has the partition {existing}, which overlaps the asked-for {asked}")
        }))
    }
}

/// Declared bounds as ranges.
fn ranges_of(intervals: &[bounds::Interval]) -> Vec<PartitionRange> {
    intervals
        .iter()
        .map(|interval| PartitionRange {
            label: format!("[{}, {})", interval.lower, interval.upper),
            lower: Some(expression(&interval.lower)),
            upper: Some(expression(&interval.upper)),
        })
        .collect()
}

/// How staging tables are stored: a partition as its parent says, one whose rows are copied to the
/// target in the database's own way.
fn storage(facts: &catalog::TableFacts) -> Storage {
    if facts.partitioning.is_none() {
        return Storage::default();
    }
    Storage {
        access_method: facts.access_method.clone(),
        tablespace: facts.tablespace.clone(),
    }
}

/// The key of each file's first row; none where it has no row.
fn first_keys(
    flow: &str,
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    column: &Column,
) -> Result<Vec<Option<KeyValue>>, PlanError> {
    let mut keys = Vec::with_capacity(files.len());
    for file in files {
        let preview = Preview::read(file, dialect, 1)?;
        let key = match preview.records.first() {
            None => None,
            Some(record) => {
                let text = column
                    .source
                    .field_index()
                    .and_then(|field| record.fields.get(field).cloned().flatten());
                let value = convert_first(column, text.as_deref());
                Some(value.map_err(|error| {
                    PlanError::Mismatch {
                        flow: flow.to_owned(),
                        what: format!(
                            "{}: the first row has the key {}: {error}",
                            record.location,
                            text.as_deref().unwrap_or("NULL")
                        ),
                        hint:
                            "with declared bounds the first row's key tells which partition a file \
                           goes to"
                                .to_owned(),
                    }
                })?)
            }
        };
        keys.push(key);
    }
    Ok(keys)
}
