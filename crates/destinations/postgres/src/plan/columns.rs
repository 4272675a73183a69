//! The columns of a flow, resolved by the catalog and the server's types.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_destination::sums::ColumnForm;
use inrush_engine::native::plan::columns::{KnownColumns, Match, TargetColumns, column};
use inrush_engine::native::plan::steps::{BoundSteps, DerivedTarget, StepPlan};
use inrush_engine::plan::PlanError;
use inrush_pgclient::{ClientError, native_types};
use inrush_pgcopy::{NativeShape, PgType};
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::native_type::NativeType;
use inrush_source::{AS_TEXT, Source, read_as_text};
use tokio_postgres::error::SqlState;

use super::WireForm;
use crate::catalog::{CatalogColumn, TableFacts};
use crate::plan::failure::PlanFailure;
use crate::staging::NewColumn;
use crate::types::{self, PostgresType};
use crate::{PostgresError, Session};

/// The columns of a flow, resolved.
pub struct ResolvedColumns {
    /// The columns that are loaded, in the package's order, or else in that of the files; derived ones come last.
    pub columns: Vec<Column>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
    /// Their types as the server writes them.
    pub type_sql: Vec<String>,
    /// Their types in the catalog: OID and modifier.
    pub catalog_types: Vec<(u32, i32)>,
    /// The form in which rows are sent.
    pub wire: WireForm,
    /// The columns whose values come in binary form with OIDs of another database, by their index.
    pub native_shapes: Vec<(usize, NativeShape)>,
    /// The columns of a new target.
    pub new_columns: Vec<NewColumn>,
    /// The form in which each column is verified.
    pub forms: Vec<ColumnForm>,
    /// Columns whose values the server may change silently, with their types.
    pub unchecked: Vec<String>,
    /// The columns that are read, if the flow has steps.
    read: Option<ReadColumns>,
}

/// The columns before the steps of a flow.
struct ReadColumns {
    columns: Vec<Column>,
    /// Indexes of the read columns that are loaded unchanged. They come first among the loaded columns.
    passed: Vec<usize>,
    steps: BoundSteps,
}

impl ResolvedColumns {
    /// The columns that the source fills.
    pub fn filled_by_source(&mut self) -> &mut [Column] {
        match &mut self.read {
            Some(read) => &mut read.columns,
            None => &mut self.columns,
        }
    }

    /// The plan of the steps, once the columns that are read have their policies.
    pub fn steps(&mut self, source: &dyn Source) -> Result<Option<Arc<StepPlan>>, PlanError> {
        let Some(ReadColumns {
            columns,
            passed,
            steps,
        }) = self.read.take()
        else {
            return Ok(None);
        };
        let plan = steps.plan(columns, &passed, &mut self.columns, source)?;
        Ok(Some(Arc::new(plan)))
    }
}

/// Resolves the columns of a flow against the catalog. `fields_native` has the forms of fields whose values are in a source's
/// own binary form.
pub async fn resolve(
    session: &Session,
    known: &KnownColumns<'_>,
    facts: Option<&TableFacts>,
    fields_native: &[Option<NativeType>],
) -> Result<ResolvedColumns, PlanFailure> {
    let matches = known.matches(false)?;
    let mut read: Vec<Column> = Vec::with_capacity(matches.columns.len());
    let mut passed = Vec::with_capacity(matches.columns.len());
    let mut loaded = Loaded::default();
    let mut new = NewTypes {
        session,
        known,
        named: BTreeMap::new(),
    };
    let mut natives = Vec::new();
    let target = |place: Option<usize>| place.and_then(|place| facts?.columns.get(place));
    for (index, found) in matches.columns.iter().enumerate() {
        let Match { detail, source, .. } = found;
        let (mut resolved, nullable) = match target(found.place) {
            Some(column) => existing(known, column)?,
            None => {
                let type_name = match found.is_loaded {
                    true => known.type_name(detail)?,
                    false => known.type_name_for_steps(detail)?,
                };
                let resolved = new.resolve(type_name, &detail.name).await?;
                let nullable = detail.nullable && !resolved.not_null;
                (resolved, nullable)
            }
        };
        let nullable = nullable && known.key != Some(detail.name.as_str());
        let field = source.field_index();
        let sent = field.and_then(|index| fields_native.get(index)?.as_ref());
        let mut shape = None;
        if let Some(sent) = sent {
            let key = (sent, resolved.catalog_type);
            let passing = match natives.iter().find(|(known, _)| *known == key) {
                Some((_, passing)) => Option::clone(passing),
                None => native_types::passing(session, sent, resolved.catalog_type)
                    .await
                    .map_err(PostgresError::from)?,
            };
            natives.push((key, passing.clone()));
            if passing.is_some() {
                pass_unchanged(&mut resolved, sent);
            }
            shape = passing;
        }
        let own = column(
            known,
            detail,
            source,
            resolved.column_type.clone(),
            nullable,
        );
        read.push(own.clone());
        if found.is_loaded {
            passed.push(index);
            loaded.push(own, resolved, shape);
        }
    }
    let read = match known.steps {
        None => None,
        Some(asked) => {
            let target_columns = facts.map(names);
            let steps = asked.bind(&read, target_columns.as_ref(), known.target)?;
            for derived in steps.derived() {
                let (resolved, nullable) = match target(derived.place) {
                    Some(column) => existing(known, column)?,
                    None => (new.derived(derived).await?, true),
                };
                let nullable = nullable && known.key != Some(derived.name.as_str());
                let own = BoundSteps::column(derived, resolved.column_type.clone(), nullable);
                loaded.push(own, resolved, None);
            }
            Some(ReadColumns {
                columns: read,
                passed,
                steps,
            })
        }
    };
    let Loaded {
        columns,
        type_sql,
        catalog_types,
        wire,
        native_shapes,
        new_columns,
        unchecked,
    } = loaded;
    if columns.is_empty() && read.is_some() {
        return Err(known
            .mismatch(
                "no column is loaded".to_owned(),
                "derive a column of the target, or load one of the source",
            )
            .into());
    }
    if facts.is_none()
        && let Some(long) = new_columns
            .iter()
            .find(|column| column.name.len() > POSTGRES_NAME_BYTES_MAX)
    {
        let what = format!(
            "column `{}` has a name of {} bytes, and a name of PostgreSQL has at most {POSTGRES_NAME_BYTES_MAX}",
            long.name,
            long.name.len()
        );
        let mend = "list the columns in the package, and give this one a shorter name";
        return Err(known.mismatch(what, mend).into());
    }
    if let Some(facts) = facts {
        let required = facts.columns.iter().filter(|column| {
            column.not_null
                && !column.has_default
                && !column.generated
                && !column.of_versions
                && !column.identity
        });
        let filled = columns.iter().map(|column| column.name.as_str()).collect();
        known.require(required.map(|column| column.name.as_str()), &filled)?;
    }
    let forms = columns
        .iter()
        .map(|column| ColumnForm::new(&column.column_type))
        .collect();
    let wire = wire_form(&columns, &type_sql, wire);
    refuse_text(known, &columns, &wire)?;
    Ok(ResolvedColumns {
        forms,
        columns,
        field_count: matches.field_count,
        type_sql,
        catalog_types,
        wire,
        native_shapes,
        new_columns,
        unchecked,
        read,
    })
}

/// The columns that are loaded, as far as they are resolved.
#[derive(Default)]
struct Loaded {
    columns: Vec<Column>,
    type_sql: Vec<String>,
    catalog_types: Vec<(u32, i32)>,
    wire: Vec<Option<PgType>>,
    native_shapes: Vec<(usize, NativeShape)>,
    new_columns: Vec<NewColumn>,
    unchecked: Vec<String>,
}

impl Loaded {
    /// Adds a column. `shape` is the form of its values, if they come in the binary form of another database.
    fn push(&mut self, column: Column, resolved: PostgresType, shape: Option<NativeShape>) {
        if let Some(shape) = shape.filter(|shape| !shape.is_plain()) {
            self.native_shapes.push((self.columns.len(), shape));
        }
        self.new_columns.push(NewColumn {
            name: column.name.clone(),
            type_sql: resolved.sql.clone(),
            not_null: !column.nullable,
            collation: None,
        });
        if resolved.may_change {
            let unchecked = format!("`{}` ({})", column.name, resolved.sql);
            self.unchecked.push(unchecked);
        }
        self.catalog_types.push(resolved.catalog_type);
        self.wire.push(resolved.wire);
        self.type_sql.push(resolved.sql);
        self.columns.push(column);
    }
}

/// Types of columns that the target does not have. Wide tables have few types.
struct NewTypes<'a> {
    session: &'a Session,
    known: &'a KnownColumns<'a>,
    named: BTreeMap<String, PostgresType>,
}

/// True if the server refused the words of a statement, or a value in them: `numeric(0)` is neither known nor right.
fn is_of_words(code: &SqlState) -> bool {
    code.code().starts_with("42") || code.code().starts_with("22")
}

impl NewTypes<'_> {
    async fn resolve(
        &mut self,
        type_name: &str,
        column: &str,
    ) -> Result<PostgresType, PlanFailure> {
        if let Some(resolved) = self.named.get(type_name) {
            return Ok(resolved.clone());
        }
        let resolved = types::resolve_name(self.session, type_name, column)
            .await
            .map_err(|error| self.refused(error, type_name, column))?;
        self.named.insert(type_name.to_owned(), resolved.clone());
        Ok(resolved)
    }

    /// The failure of a type. If the server knows no such type, the package is wrong, and the message names its flow.
    fn refused(&self, error: ClientError, type_name: &str, column: &str) -> PlanFailure {
        match error {
            ClientError::Refused {
                code,
                message,
                hint,
                ..
            } if is_of_words(&code) => {
                let what = format!(
                    "column `{column}`: {type_name:?} is not a type for a new table: the server says: {message}"
                );
                let own = format!(
                    "name a type that the database has (`\\dT` of psql lists its own ones), or make this one there first; \
                     if the rows come from a database, you can {}",
                    read_as_text(["...", &format!("{column}{AS_TEXT}")])
                );
                let known = self.known.mismatch(what, hint.as_deref().unwrap_or(&own));
                known.into()
            }
            error => PostgresError::from(error).into(),
        }
    }

    async fn derived(&mut self, derived: &DerivedTarget) -> Result<PostgresType, PlanFailure> {
        match &derived.type_name {
            Some(type_name) => self.resolve(type_name, &derived.name).await,
            None => Err(self
                .known
                .mismatch(
                    format!(
                        "a new target cannot have the derived column `{}`: no type holds its values",
                        derived.name
                    ),
                    "create the target first, or CAST the column AS VARCHAR",
                )
                .into()),
        }
    }
}

fn existing(
    known: &KnownColumns<'_>,
    column: &CatalogColumn,
) -> Result<(PostgresType, bool), PlanError> {
    if column.generated {
        return Err(known.mismatch(
            format!("the server computes column `{}` itself", column.name),
            &format!(
                "{}, or load into a table without the expression",
                known.origin.without_a_column()
            ),
        ));
    }
    if column.of_versions {
        return Err(known.mismatch(
            format!(
                "the switch fills column `{}`, a column of versions (`scd`)",
                column.name
            ),
            known.origin.without_a_column(),
        ));
    }
    Ok((column.resolved.clone(), !column.not_null))
}

fn wire_form(columns: &[Column], type_sql: &[String], wire: Vec<Option<PgType>>) -> WireForm {
    let without = columns
        .iter()
        .zip(type_sql)
        .zip(&wire)
        .find(|(_, wire)| wire.is_none());
    if let Some(((column, type_sql), _)) = without {
        return WireForm::Text {
            reason: format!(
                "column `{}` has the type {type_sql}, for which there is no binary encoder",
                column.name
            ),
        };
    }
    WireForm::Binary(wire.into_iter().flatten().collect())
}

/// Values of the type come in its binary form, and are sent as they are.
fn pass_unchanged(resolved: &mut PostgresType, sent: &NativeType) {
    resolved.column_type = ColumnType::Special(SpecialType::Native {
        form: sent.form.clone(),
    });
    // The value is sent like bytea: its length, then its bytes.
    resolved.wire = Some(PgType::Bytea);
    resolved.may_change = false;
}

/// Refuses values in binary form beside columns that can be sent only as text.
fn refuse_text(
    known: &KnownColumns<'_>,
    columns: &[Column],
    wire: &WireForm,
) -> Result<(), PlanError> {
    let is_native = |column: &&Column| {
        matches!(
            column.column_type,
            ColumnType::Special(SpecialType::Native { .. })
        )
    };
    match (wire, columns.iter().find(is_native)) {
        (WireForm::Text { reason }, Some(column)) => Err(known.mismatch(
            format!(
                "column `{}` comes in binary form, but the rows must be sent as text: {reason}",
                column.name
            ),
            "read both columns in the same way: both as the source has them, or both as text (NAME::text)",
        )),
        _ => Ok(()),
    }
}

/// The names of a target's columns.
pub fn names(facts: &TableFacts) -> TargetColumns {
    let name = |column: &CatalogColumn| column.name.clone();
    let filled = facts
        .columns
        .iter()
        .filter(|column| !column.generated && !column.of_versions);
    TargetColumns {
        all: facts.columns.iter().map(name).collect(),
        filled: filled.map(name).collect(),
    }
}
