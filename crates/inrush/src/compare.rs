//! Compares the rows of a source with those of its target (`inrush verify --compare`): by hashes that their servers make, if
//! both are PostgreSQL, otherwise by reading both sides.

use std::collections::BTreeMap;
use std::path::Path;

use inrush_destination::Address;
use inrush_engine::error::Error;
use inrush_engine::upkeep::{LedgerOptions, MarkOfTarget, Which};
use inrush_package::{
    CheckElse, Flow, FlowSource, Mode, Package, Step, TableName, Unmatched, UnmatchedWord,
};
use inrush_plan::PlanError;
use inrush_rows::cancel::Stop;
use inrush_rows::sql_text;
use inrush_source::{AS_TEXT, Comparison, SourceError, range_condition};
pub use inrush_source::{SplitDifference, UnfitRows};
use inrush_source_adbc::{Database, Vendor};
use inrush_source_postgres::{Limits, Rows, Side};

use crate::ConnectionDefaults;
use crate::compare_read::{BothRead, ReadCompared};
use crate::compared_side::{SOURCE, TARGET, of_side};
use crate::flow_since::name_of_read;
use crate::flow_source::{rows_of, table_name};
use crate::flow_tables::address_of;
use crate::operations::past_runs;
use crate::registry::{is_compared, is_server_of_source, open_sources};

/// What a comparison of a flow has found.
#[derive(Clone, Debug)]
pub struct FlowCompared {
    /// The flow's name.
    pub flow: String,
    /// The source, in words.
    pub source: String,
    /// The target, in words.
    pub target: String,
    /// The columns whose values identify the row of the target that a row of the source is compared with.
    pub key: Vec<String>,
    /// Columns that only one side has, and that were not compared.
    pub left_out: Vec<String>,
    /// Columns that were not compared, because the two databases have no common form for the values.
    pub without_form: Vec<String>,
    /// The condition that limits the compared rows, in words.
    pub limit: Option<String>,
    /// The result.
    pub comparison: Comparison,
}

/// Compares the source and the target of each flow of a package, by the columns whose names both have. Drivers are looked for in
/// `site_packages`.
pub fn compare(
    package: &Package,
    defaults: &ConnectionDefaults,
    folder: &Path,
    site_packages: Option<&Path>,
    stop: &Stop,
) -> Result<Vec<FlowCompared>, Error> {
    package.check()?;
    let marks = marks(package, defaults, folder, site_packages)?;
    let compared = package.flows.iter().map(|flow| {
        let one = OneFlow {
            package,
            flow,
            name: flow.shown_name(),
            defaults,
            folder,
            site_packages,
            marks: &marks,
        };
        one.compare(stop)
    });
    compared.collect()
}

/// The marks of the package, if it has incremental flows.
fn marks(
    package: &Package,
    defaults: &ConnectionDefaults,
    folder: &Path,
    site_packages: Option<&Path>,
) -> Result<Vec<MarkOfTarget>, Error> {
    let mut sources = package.flows.iter().filter_map(|flow| flow.source.as_ref());
    if !sources.any(|source| source.since.is_some()) {
        return Ok(Vec::new());
    }
    let options = LedgerOptions {
        folder,
        site_packages,
        ledger_schema: &package.run.ledger_schema,
    };
    let runs = past_runs(package.single_connection()?, &options, defaults)?;
    runs.marks(&Which {
        package: Some(package.name.clone()),
        run: None,
    })
}

struct OneFlow<'a> {
    package: &'a Package,
    flow: &'a Flow,
    name: &'a str,
    defaults: &'a ConnectionDefaults,
    folder: &'a Path,
    site_packages: Option<&'a Path>,
    marks: &'a [MarkOfTarget],
}

impl OneFlow<'_> {
    fn refused(&self, what: &str, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.name.to_owned(),
            what: what.to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// The URL of a connection whose tables can be compared.
    fn url(&self, connection: &str) -> Result<&str, PlanError> {
        let url = self.package.connections.get(connection);
        let url = url.map_or("", |connection| connection.address());
        match is_compared(url) {
            true => Ok(url),
            false => Err(self.refused(
                &format!(
                    "`{connection}` cannot be compared: it is not PostgreSQL, DuckDB, SQLite or another database with an ADBC driver (Parquet and SQL Server are not)"
                ),
                "count the rows of files by `inrush verify` without --compare; the sums of `verify` are in the report of the load",
            )),
        }
    }

    fn compare(&self, stop: &Stop) -> Result<FlowCompared, Error> {
        let source = self.comparable()?;
        let into = self.package.connection_of(self.flow);
        let into = into.map_err(|fault| self.refused(&fault.to_string(), "name a connection"))?;
        let urls = [self.url(&source.connection)?, self.url(into)?];
        match urls.iter().all(|url| is_server_of_source(url)) {
            true => self.compare_by_servers(source, into, urls, stop),
            false => self.compare_by_reading(source, into, urls, stop),
        }
    }

    /// The source of a flow whose target must have the same rows.
    fn comparable(&self) -> Result<&FlowSource, PlanError> {
        let flow = self.flow;
        let Some(source) = &flow.source else {
            return Err(self.refused(
                "its rows come from files; only rows of tables and queries can be compared",
                "`inrush verify --split` reads files twice, and `verify = \"rows\"` compares them with the target",
            ));
        };
        if !flow.columns.is_empty() {
            return Err(self.refused(
                "its `columns` change values during the load, so the two sides would differ",
                "compare flows without `columns`",
            ));
        }
        if flow.output_number.is_some() {
            return Err(self.refused(
                "its rows go to several outputs, so no single target has all of them",
                "compare flows with one target",
            ));
        }
        if flow.steps.iter().any(may_drop_rows) {
            return Err(self.refused(
                "its steps filter or reject rows, so its target has other rows than its source",
                "compare flows whose steps only derive columns, warn, or look up keys without rejects",
            ));
        }
        Ok(source)
    }

    /// The condition for the rows of a target that are also in its source. Rows of ended versions are not in the source
    /// any more.
    fn of_versions(&self) -> Result<Option<String>, PlanError> {
        let scd = self.flow.scd_columns()?;
        Ok(scd.map(|scd| format!("{} IS NULL", sql_text::identifier(&scd.valid_to))))
    }

    /// Reads the rows of both sides, and compares the hashes that the engine makes.
    fn compare_by_reading(
        &self,
        source: &FlowSource,
        into: &str,
        urls: [&str; 2],
        stop: &Stop,
    ) -> Result<FlowCompared, Error> {
        let ([of_source, of_target], limit) = match &source.since {
            None => ([None, None], None),
            Some(_) => self.ranges_in_sql(source, into, urls, stop)?,
        };
        let with_range = |filter: Option<String>, range: Option<String>| {
            let both = [filter, range].into_iter().flatten();
            let both: Vec<String> = both.map(|one| sql_text::in_parentheses(&one)).collect();
            (!both.is_empty()).then(|| both.join(" AND "))
        };
        let read = FlowSource {
            filter: with_range(source.filter.clone(), of_source),
            since: None,
            indexes: false,
            partitions: false,
            ..source.clone()
        };
        let stored = FlowSource {
            connection: into.to_owned(),
            table: Some(self.flow.table.clone()),
            filter: with_range(self.of_versions()?, of_target),
            ..FlowSource::default()
        };
        let both = BothRead {
            package: self.package,
            flow: self.flow,
            name: self.name,
            into,
            folder: self.folder,
            open_sources: &open_sources(self.defaults, self.site_packages),
        };
        let own_key = match self.flow.mode {
            Mode::Upsert => self.flow.key_columns().map_err(PlanError::from)?,
            _ => Vec::new(),
        };
        let ReadCompared {
            names: [source, target],
            key,
            left_out,
            without_form,
            comparison,
        } = both.compare(read, stored, own_key, stop)?;
        Ok(FlowCompared {
            flow: self.name.to_owned(),
            source,
            target,
            key,
            left_out,
            without_form,
            limit,
            comparison,
        })
    }

    /// The rows below the mark of an incremental flow, as a condition for the source, as one for the target, and in words.
    fn ranges_in_sql(
        &self,
        source: &FlowSource,
        into: &str,
        urls: [&str; 2],
        stop: &Stop,
    ) -> Result<([Option<String>; 2], Option<String>), PlanError> {
        let here = self.timed(&source.connection, urls[0], stop)?;
        let there = self.timed(into, urls[1], stop)?;
        let server = match &here {
            Timed::Server => {
                let address = address_of(&source.connection, urls[0], self.defaults)?;
                address.describe_database()
            }
            Timed::Database(database) => database.identity.join(" "),
        };
        let (limits, words) = self.range(source, &server)?;
        let Some((column, from, below)) = limits.range else {
            return Ok(([None, None], words));
        };
        let from = from.as_deref();
        let range = |side: &Timed| side.times_in_range(&column, from, &below);
        // In SQLite times are texts, and comparing them loses the microseconds that other databases have.
        let is_coarser = there.has_texts() && !here.has_texts();
        match (range(&here), range(&there)) {
            (Some(here), Some(there)) if !is_coarser => Ok(([Some(here), Some(there)], words)),
            _ => Err(self.refused(
                "it loads only new rows (`since`): such a flow can be compared only if its source and its target are PostgreSQL, DuckDB or \
                 SQLite, and SQLite is not the target of another kind of source",
                "remove `since` in a copy of the package, and compare with that: then all rows of both sides are compared",
            )),
        }
    }

    /// The database of a connection, for conditions on times.
    fn timed(&self, connection: &str, url: &str, stop: &Stop) -> Result<Timed, PlanError> {
        if is_server_of_source(url) {
            return Ok(Timed::Server);
        }
        let none = BTreeMap::new();
        let options = self.package.connections.get(connection);
        let address = Address {
            url,
            options: options.map_or(&none, |connection| &connection.options),
            folder: self.folder,
            site_packages: self.site_packages,
            ledger_schema: "",
        };
        Ok(Timed::Database(Database::open(&address, stop)?))
    }

    /// Compares the hashes that two servers of PostgreSQL make.
    fn compare_by_servers(
        &self,
        source: &FlowSource,
        into: &str,
        [from_url, into_url]: [&str; 2],
        stop: &Stop,
    ) -> Result<FlowCompared, Error> {
        let flow = self.flow;
        let from = address_of(&source.connection, from_url, self.defaults)?;
        let into = address_of(into, into_url, self.defaults)?;
        let (of_target, limit) = self.range(source, &from.describe_database())?;
        let of_source = Limits {
            filter: source.filter.clone(),
            ..of_target.clone()
        };
        let of_target = Limits {
            filter: self.of_versions()?,
            ..of_target
        };
        let hint = "correct `table` of the flow";
        let TableName { schema, name } = table_name(self.name, &flow.table, hint)?;
        let target = Rows::Table { schema, name };
        let of = |side, opened: Result<Side, SourceError>| {
            opened.map_err(|error| of_side(self.name, side, error.into()))
        };
        let rows = rows_of(self.name, source)?;
        let read = of(SOURCE, Side::open(&from, &rows, &of_source, stop))?;
        let stored = of(TARGET, Side::open(&into, &target, &of_target, stop))?;
        let mut sides = [read, stored];
        let [here, there] = [sides[0].columns()?, sides[1].columns()?];
        let chosen: Vec<&str> = source
            .columns
            .iter()
            .map(|name| name.strip_suffix(AS_TEXT).unwrap_or(name))
            .collect();
        let is_chosen = |name: &&String| chosen.is_empty() || chosen.contains(&name.as_str());
        let here: Vec<String> = here.iter().filter(is_chosen).cloned().collect();
        let columns: Vec<String> = here
            .iter()
            .filter(|name| there.contains(name))
            .cloned()
            .collect();
        if columns.is_empty() {
            let refused = self.refused(
                "its two sides have no column in common",
                "is the target the one that the flow loads?",
            );
            return Err(refused.into());
        }
        let is_left_out = |name: &&String| !columns.contains(name);
        let left_out = here
            .iter()
            .chain(&there)
            .filter(is_left_out)
            .cloned()
            .collect();
        let keys = match flow.mode {
            Mode::Upsert => flow.key_columns().map_err(PlanError::from)?,
            _ => [sides[1].primary_key(), sides[0].primary_key()]
                .into_iter()
                .find(|key| !key.is_empty())
                .map(<[String]>::to_vec)
                .unwrap_or_default(),
        };
        let has_key = !keys.is_empty() && keys.iter().all(|name| columns.contains(name));
        let key = match has_key {
            true => keys,
            false => columns.clone(),
        };
        let comparison = inrush_source_postgres::compare(&mut sides, &columns, &key)?;
        Ok(FlowCompared {
            flow: self.name.to_owned(),
            source: sides[0].name().to_owned(),
            target: sides[1].name().to_owned(),
            key,
            left_out,
            without_form: Vec::new(),
            limit,
            comparison,
        })
    }

    /// The limits of an incremental flow: rows above the mark are not loaded yet.
    fn range(
        &self,
        source: &FlowSource,
        server: &str,
    ) -> Result<(Limits, Option<String>), PlanError> {
        let Some(since) = &source.since else {
            return Ok((Limits::default(), None));
        };
        let of = name_of_read(source, server);
        let mark = self.marks.iter().find(|mark| mark.range.of == of);
        let Some(mark) = mark else {
            return Err(self.refused("no run has loaded any of its rows", "run the package first"));
        };
        let column = &since.column;
        let below = &mark.range.below;
        let limit = format!("rows whose `{column}` is before {below}, the mark");
        let limits = Limits {
            filter: None,
            range: Some((column.clone(), since.from.clone(), below.clone())),
        };
        Ok((limits, Some(limit)))
    }
}

/// A database, for conditions on times.
enum Timed {
    /// PostgreSQL.
    Server,
    /// A file, or another database with an ADBC driver.
    Database(Database),
}

impl Timed {
    /// The condition in WHERE for the rows of a range; `None` if nothing is known about its times.
    fn times_in_range(&self, column: &str, from: Option<&str>, below: &str) -> Option<String> {
        let Timed::Database(database) = self else {
            let column = sql_text::identifier(column);
            return Some(range_condition(from, below, |operator, mark| {
                let mark = sql_text::literal(mark);
                format!("{column} {operator} TIMESTAMPTZ {mark}")
            }));
        };
        database.times_in_range(column, from, below)
    }

    /// True if its times are texts.
    fn has_texts(&self) -> bool {
        matches!(self, Timed::Database(database) if database.vendor == Vendor::Sqlite)
    }
}

/// True if the step may drop rows because of their values.
fn may_drop_rows(step: &Step) -> bool {
    let rejects =
        step.check.is_some() && matches!(step.otherwise.unwrap_or_default(), CheckElse::Reject);
    let looks_up = step.lookup.is_some();
    let is_rejected = matches!(
        step.unmatched,
        None | Some(Unmatched::Word(UnmatchedWord::Reject))
    );
    step.filter.is_some() || rejects || (looks_up && is_rejected)
}
