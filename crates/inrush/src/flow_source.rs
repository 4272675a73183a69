//! Flows whose rows come from a database or from a program: what they have in common, whichever source it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_package::{ColumnDetail, FlowSource, Package, TableName};
use inrush_plan::reading::flow_inputs::{
    FlowAsked, FlowInputs, InputForm, OpenInputs, TypedField, TypedInputs,
};
use inrush_plan::{FieldOrigin, PlanError};
use inrush_rows::pace::Pace;
use inrush_rows::quantity::bytes;
use inrush_rows::type_name::TypeName;
use inrush_source::{
    AS_TEXT, DatabaseSettings, InputKind, ReadLimits, Rows, Since, Source, SourceColumn,
};

use crate::flow_files::form_of_typed_rows;

/// The plan's note about a source that is declared stable.
pub const STABLE_NOTE: &str =
    "the rows are declared stable: a resumed run keeps the rows that were loaded";

/// Refuses settings that only a source in PostgreSQL has. `verdict` follows the name of the setting in the message.
pub fn refuse_what_needs_postgresql(
    asked: &FlowAsked<'_>,
    source: &FlowSource,
    verdict: &str,
) -> Result<(), PlanError> {
    let (word, option, hint) = if source.indexes {
        (
            "indexes",
            "--with-indexes",
            "leave it out, and create the indexes yourself",
        )
    } else if source.partitions {
        (
            "partitions",
            "--with-partitions",
            "leave it out; `partition_by` (--partition-by) partitions the target",
        )
    } else if source.unchanged_by.is_some() {
        (
            "unchanged_by",
            "--unchanged-by-sums",
            "leave it out: after a stop the loaded rows are read again and compared, unless they are `stable`",
        )
    } else {
        return Ok(());
    };
    Err(PlanError::Mismatch {
        flow: asked.name.to_owned(),
        what: format!("`{word}` ({option}) {verdict}"),
        hint: hint.to_owned(),
    })
}

/// Reads the name of a table in a flow. `hint` says what to correct if it is not a name.
pub fn table_name(flow: &str, table: &str, hint: &str) -> Result<TableName, PlanError> {
    TableName::parse(table).map_err(|fault| PlanError::Mismatch {
        flow: flow.to_owned(),
        what: fault.to_string(),
        hint: hint.to_owned(),
    })
}

/// How a flow reads its table or query.
pub fn settings_of(
    asked: &FlowAsked<'_>,
    source: &FlowSource,
    paces: &Paces,
    since: Option<Since>,
) -> Result<DatabaseSettings, PlanError> {
    Ok(DatabaseSettings {
        rows: rows_of(asked.name, source)?,
        columns: source.columns.clone(),
        filter: source.filter.clone(),
        split_by: source.split_by.clone(),
        split_nulls: source.split_nulls,
        connections_max: source.max_connections.map(usize::from),
        pace: paces.of(asked.package, &source.connection),
        is_stable: source.stable,
        since,
    })
}

/// The table or query that a flow reads.
pub fn rows_of(flow: &str, source: &FlowSource) -> Result<Rows, PlanError> {
    let Some(table) = &source.table else {
        return Ok(Rows::Query(source.query.clone().unwrap_or_default()));
    };
    let hint = "correct `table` of the source";
    let TableName { schema, name } = table_name(flow, table, hint)?;
    Ok(Rows::Table { schema, name })
}

/// The limits of a connection: the smallest of all flows that read it. `connections_max` is the number of connections if no
/// flow sets a limit.
pub fn limits_of(package: &Package, connection: &str, connections_max: usize) -> ReadLimits {
    let sources = sources_in(package, connection);
    let limits = sources.filter_map(|source| source.max_connections);
    ReadLimits {
        connections_max: limits.map(usize::from).min().unwrap_or(connections_max),
        rate_bytes_max: rate_of(package, connection),
        lock_wait_ms: package.run.lock_timeout_ms,
    }
}

/// The paces of connections, by their names. All flows that read a connection share its pace.
#[derive(Debug, Default)]
pub struct Paces(Mutex<BTreeMap<String, Arc<Pace>>>);

impl Paces {
    /// The pace of a connection.
    pub fn of(&self, package: &Package, connection: &str) -> Arc<Pace> {
        let rate = rate_of(package, connection);
        let mut paces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pace = paces.entry(connection.to_owned());
        Arc::clone(pace.or_insert_with(|| Arc::new(Pace::new(rate))))
    }
}

/// The smallest rate at which a connection may be read, of those that the flows set.
fn rate_of(package: &Package, connection: &str) -> Option<u64> {
    let sources = sources_in(package, connection);
    sources.filter_map(|source| source.rate_bytes_max).min()
}

fn sources_in<'a>(
    package: &'a Package,
    connection: &'a str,
) -> impl Iterator<Item = &'a FlowSource> {
    let sources = package.flows.iter().filter_map(|flow| flow.source.as_ref());
    sources.filter(move |source| source.connection == connection)
}

/// The plan's note about the rate at which a source is read; `None` if there is no limit.
pub fn rate_note(source: &dyn Source) -> Option<String> {
    let rate = source.pace()?.rate_bytes_max()?;
    Some(format!(
        "at most {} a second are read (`rate_bytes_max` of the source, --source-max-rate)",
        bytes(rate)
    ))
}

/// True if the target is new and the package lists no columns for it: it gets those of the source.
pub fn takes_columns_of_source(asked: &FlowAsked<'_>) -> Result<bool, PlanError> {
    Ok(asked.flow.column_details()?.is_empty() && asked.filled.is_none())
}

/// True if the type is known by this name in all databases.
pub fn is_known_type(declared: &str) -> bool {
    TypeName::parse(declared).is_some_and(|name| name.column_type().is_some())
}

/// The note about columns of a new table that get another type than in the source, because the source's type has no
/// counterpart: an enum, a domain and the like. `columns` are those of the new table. `has_counterpart` is asked for the
/// number of a column and its type as the source declares it.
pub fn types_note(
    asked: &FlowAsked<'_>,
    source: &dyn Source,
    columns: &[ColumnDetail],
    has_counterpart: impl Fn(usize, &str) -> bool,
) -> Result<Option<String>, PlanError> {
    if !takes_columns_of_source(asked)? {
        return Ok(None);
    }
    let asked_as_text = |name: &str| {
        let source = asked.flow.source.as_ref();
        let mut chosen = source.into_iter().flat_map(|source| &source.columns);
        chosen.any(|chosen| chosen.strip_suffix(AS_TEXT) == Some(name))
    };
    let fields = source.columns()?;
    let changes = fields
        .iter()
        .zip(columns)
        .enumerate()
        .filter_map(|(index, (field, column))| {
            let (declared, own) = (field.declared.as_ref()?, column.type_name.as_ref()?);
            let is_other = !has_counterpart(index, declared)
                && !declared.eq_ignore_ascii_case(own)
                && !asked_as_text(&column.name);
            is_other.then(|| format!("{} {own} instead of {declared}", column.name))
        });
    let changes: Vec<String> = changes.collect();
    Ok((!changes.is_empty()).then(|| {
        format!(
            "{}: these columns of the new table get another type, because the source's has no counterpart: {}; to choose the \
             types, create the table first, or list the `columns` of the flow in a package",
            asked.name,
            changes.join(", ")
        )
    }))
}

/// The inputs of a flow whose rows have types. `columns` are those of a new target for which the package lists none.
pub fn typed_inputs(
    asked: &FlowAsked<'_>,
    source: Arc<dyn Source>,
    columns: Vec<ColumnDetail>,
) -> Result<FlowInputs, PlanError> {
    let (dialect, format) = form_of_typed_rows(&asked.flow.format)?;
    let details = match takes_columns_of_source(asked)? {
        true => columns.clone(),
        false => asked.flow.column_details()?,
    };
    let header = source.columns()?.into_iter().map(|column| column.name);
    Ok(FlowInputs {
        dialect,
        format,
        reject_hint: None,
        header: Some(header.collect()),
        header_input: Some(Arc::clone(source.input(0).name())),
        details,
        first_field_count: None,
        primary_key: Vec::new(),
        structure: None,
        collations: Vec::new(),
        own_columns: columns,
        nothing_new: None,
        opener: Box::new(Opened(source)),
    })
}

/// An opened source, until the plan has its columns.
struct Opened(Arc<dyn Source>);

impl OpenInputs for Opened {
    fn typed(&self) -> Option<TypedInputs> {
        let columns = self.0.columns().ok()?.into_iter();
        let field = |column: SourceColumn| {
            Some(TypedField {
                name: column.name,
                data_type: column.data_type?,
                is_uuid: column.is_uuid,
                native: column.native,
            })
        };
        Some(TypedInputs {
            kind: match self.0.input(0).kind() {
                InputKind::Query => "query",
                _ => "table",
            },
            origin: FieldOrigin::Database,
            columns: columns.map(field).collect::<Option<_>>()?,
        })
    }

    fn open(&mut self, _form: InputForm<'_>) -> Arc<dyn Source> {
        self.0.clone()
    }
}
