//! Makes the plan of one flow: its files, its columns, its units.

use std::path::PathBuf;
use std::sync::Arc;

use inrush_destination::{Abilities, Destination, TargetName, TargetPlan};

use super::columns::{self, Resolved};
use super::{ContractFlow, RangeUnit, refuse};
use crate::convert::Converter;
use crate::package::{ColumnDetail, Flow, Package, Verify};
use crate::plan::columns::Known;
use crate::plan::flow::{first_field_count, statements};
use crate::plan::{
    PlanError, PlanOptions, Reading, expect, header_row, headers, identity, sniffed, typed_rows,
};
use crate::source::{self, ResolveOptions, Shard, SourceFile};
use crate::verify::{ColumnForm, VerifyColumn, VerifyPlan};

/// Makes the plan of one flow.
pub struct FlowPlanner<'a> {
    /// Where the rows go.
    pub destination: &'a dyn Destination,
    /// What it can do.
    pub abilities: &'a Abilities,
    /// The package.
    pub package: &'a Package,
    /// What is known beside it.
    pub options: &'a PlanOptions<'a>,
    /// The flow.
    pub flow: &'a Flow,
    /// The run's key.
    pub run_key: &'a str,
    /// The target's name.
    pub name: &'a TargetName,
}

impl FlowPlanner<'_> {
    /// The plan; what a user should know is added to `notes`.
    pub fn plan(&self, notes: &mut Vec<String>) -> Result<ContractFlow, PlanError> {
        let name = self
            .flow
            .name
            .clone()
            .unwrap_or_else(|| self.name.name.clone());
        let is_replay = self.options.is_replay;
        let mode = refuse::flow(
            &name,
            self.flow,
            &self.package.run,
            self.abilities,
            is_replay,
        )?;
        let facts = self.destination.target(self.name)?;
        if let Some((what, hint)) = facts.as_ref().and_then(|facts| facts.obstacle.clone()) {
            return Err(PlanError::Mismatch {
                flow: name,
                what,
                hint,
            });
        }
        notes.extend(facts.iter().flat_map(|facts| facts.notes.iter().cloned()));
        let files = self.files(&name, notes)?;
        let target_columns = facts.as_ref().map(columns::names);
        let filled = target_columns.as_ref().map(|names| names.filled.as_slice());
        let sniffed = sniffed::of(self.flow, &files, filled)?;
        notes.extend(sniffed.notes);
        let mut dialect = sniffed.dialect;
        let mut details: Vec<ColumnDetail> = self.flow.column_details()?;
        if sniffed.columns.is_empty() {
            let question = header_row::Question {
                flow: &name,
                declared: self.flow.format.header,
                files: &files,
                details: &details,
                target_columns: filled,
            };
            dialect.header = header_row::has_header(&question, &dialect, notes)?;
        }
        let (header, header_file) = match headers::first(&name, &files, &dialect, notes)? {
            Some((header, file)) => (Some(header), Some(file)),
            None => (None, None),
        };
        details.extend(sniffed.columns);
        let known = Known {
            flow: &name,
            target: &self.name.sql,
            details: &details,
            header: header.as_deref(),
            header_file: header_file.as_deref().map(PathBuf::as_path),
            first_field_count: first_field_count(&files, &dialect, &details)?,
            format: &self.flow.format,
            target_columns: target_columns.as_ref(),
            key: None,
        };
        let mut resolved = columns::resolve(self.destination, &known, facts.as_ref())?;
        if let Some(table) = files[0].table() {
            typed_rows::check(&name, table, &mut resolved.columns)?;
        }
        // In a file of one column an empty line is an empty field, as COPY reads it.
        dialect.blank_lines_are_records = resolved.field_count == 1 && !dialect.trailing_delimiter;
        // What cannot be converted as declared is told before anything runs.
        Converter::new(&resolved.columns, &dialect, resolved.field_count).map_err(|error| {
            PlanError::Mismatch {
                flow: name.clone(),
                what: error.to_string(),
                hint: "mend the column in `columns`".to_owned(),
            }
        })?;
        let partition_by = self.partition_by(&name, &resolved, facts.as_ref())?;
        let mut verify = verify_plan(&resolved);
        verify.summed = expect::places(&name, &expect::summed(self.flow), &verify)?;
        let expect = expect::plan(
            self.flow,
            &name,
            self.options.folder,
            &files,
            String::from_utf8_lossy(dialect.delimiter.as_bytes()).into_owned(),
        )?;
        let trailer = self
            .flow
            .trailer
            .as_ref()
            .map(|trailer| &trailer.starts_with);
        let shape = format!(
            "{dialect:?} {:?} {:?} {:?} {} {partition_by:?} {trailer:?} {:?}",
            self.flow.format.encoding,
            resolved.columns,
            resolved.planned,
            self.name.sql,
            verify.summed,
        );
        let units = self.units(files, &shape)?;
        let target = TargetPlan {
            name: self.name.clone(),
            columns: resolved.planned,
            mode,
            partition_by,
            shape,
            pre_sql: statements(&self.flow.pre_sql),
            post_sql: statements(&self.flow.post_sql),
        };
        let reading = Reading {
            target: self.name.sql.clone(),
            columns: resolved.columns,
            field_count: resolved.field_count,
            header,
            dialect,
            format: sniffed.format,
            reject_hint: sniffed.reject_hint,
            reject_limit: self.flow.rejects,
            verify,
            expect,
            name,
        };
        Ok(ContractFlow {
            reading,
            mode: self.flow.mode,
            target,
            facts,
            units,
        })
    }

    fn files(
        &self,
        name: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Arc<SourceFile>>, PlanError> {
        // Paths are shown as they were written: without a dot for the folder that one stands in.
        let folder = self.options.folder;
        let folder = folder.strip_prefix(".").unwrap_or(folder);
        let options = ResolveOptions {
            compression: self.flow.format.compression,
            encoding: self.flow.format.text_encoding()?,
            pipes: self.options.pipes.clone(),
            reader: name,
        };
        let files = source::resolve_as(self.flow.files.patterns(), folder, &options)?;
        let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
        let is_empty = |file: &&Arc<SourceFile>| file.size_bytes == 0 && !file.is_pipe();
        for file in files.iter().filter(is_empty) {
            notes.push(format!("{} is empty: it has no rows", file.path.display()));
        }
        Ok(files)
    }

    /// The columns whose values make the partitions: as the package says, which must be as the
    /// target has it.
    fn partition_by(
        &self,
        name: &str,
        resolved: &Resolved,
        facts: Option<&inrush_destination::TargetFacts>,
    ) -> Result<Vec<String>, PlanError> {
        let asked: Vec<String> = self.flow.partition_column()?.into_iter().collect();
        let mismatch = |what: String, hint: &str| PlanError::Mismatch {
            flow: name.to_owned(),
            what,
            hint: hint.to_owned(),
        };
        let is_column = |name: &&String| resolved.planned.iter().any(|own| own.name == **name);
        if let Some(column) = asked.iter().find(|name| !is_column(name)) {
            return Err(mismatch(
                format!("the files have no column `{column}`, which is the partition key"),
                "partition_by names one of the columns of the files",
            ));
        }
        match facts
            .filter(|facts| facts.has_rows)
            .map(|facts| &facts.partitioned_by)
        {
            Some(has) if !asked.is_empty() && *has != asked => Err(mismatch(
                format!(
                    "{} is partitioned by {}, and the flow says partition_by = {asked:?}",
                    self.name.sql,
                    match has.is_empty() {
                        true => "nothing".to_owned(),
                        false => has.join(", "),
                    }
                ),
                "leave partition_by out, or name another target",
            )),
            Some(has) => Ok(has.clone()),
            None => Ok(asked),
        }
    }

    /// Each file range is a unit. They depend on the files alone, so that a stopped run goes on
    /// with those that are missing.
    fn units(&self, files: Vec<Arc<SourceFile>>, shape: &str) -> Result<Vec<RangeUnit>, PlanError> {
        let mut units = Vec::new();
        for file in files {
            let shard = Shard::whole(file);
            for shard in source::pieces_of(&shard, self.abilities.unit_bytes)? {
                units.push(RangeUnit {
                    number: units.len() + 1,
                    key: identity::unit_key(self.run_key, shape, std::slice::from_ref(&shard)),
                    shard,
                });
            }
        }
        Ok(units)
    }
}

/// Rows are counted; sums are made of the columns that somebody promised sums of.
fn verify_plan(resolved: &Resolved) -> VerifyPlan {
    let columns = resolved.columns.iter().zip(&resolved.planned);
    VerifyPlan {
        level: Verify::Count,
        is_utf8: true,
        summed: Vec::new(),
        columns: columns
            .map(|(column, planned)| VerifyColumn {
                name: column.name.clone(),
                form: ColumnForm::new(&column.column_type, None),
                type_sql: planned.sql.clone(),
            })
            .collect(),
    }
}
