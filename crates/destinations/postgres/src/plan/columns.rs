//! The columns of a flow, resolved by the catalog and the server's types.

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;
use inrush_destination::sums::ColumnForm;
use inrush_pgclient::{ClientError, native_types};
use inrush_pgcopy::{NativeShape, PgType};
use inrush_plan::reading::columns::{KnownColumns, TargetColumns};
use inrush_plan::reading::resolved_columns::{ColumnTyped, TargetTypes};
use inrush_plan::{PlanError, PlanOptions};
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::native_type::NativeType;
use inrush_source::{AS_TEXT, read_as_text};
use tokio_postgres::error::SqlState;

use super::WireForm;
use super::build::wait;
use super::flow_target::FlowTarget;
use crate::catalog::{CatalogColumn, TableFacts};
use crate::plan::failure::PlanFailure;
use crate::staging::NewColumn;
use crate::types::{self, PostgresType};
use crate::{PostgresError, Session};

/// The forms of a flow's columns, each list in the order of the columns.
pub struct ResolvedColumns {
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
}

/// The type of a column. `shape` is the form of its values, if they come in the binary form of another database.
#[derive(Clone)]
pub struct ColumnForms {
    resolved: PostgresType,
    shape: Option<NativeShape>,
}

impl ColumnTyped for ColumnForms {
    fn column_type(&self) -> &ColumnType {
        &self.resolved.column_type
    }

    fn is_never_null(&self) -> bool {
        self.resolved.not_null
    }
}

/// The types of a server, and the target in its catalog if that exists.
pub struct ServerTypes<'a> {
    session: &'a Session,
    options: &'a PlanOptions<'a>,
    facts: Option<&'a TableFacts>,
    /// The server's answers so far.
    natives: Vec<NativeAnswer>,
}

/// Whether values in a binary form can be passed to a column.
struct NativeAnswer {
    form: NativeType,
    /// The type of the column in the catalog: OID and modifier.
    catalog_type: (u32, i32),
    /// The shape of the values; `None` if they cannot be passed.
    shape: Option<NativeShape>,
}

impl<'a> ServerTypes<'a> {
    /// The types of this session's database.
    pub fn new(
        session: &'a Session,
        facts: Option<&'a TableFacts>,
        options: &'a PlanOptions<'a>,
    ) -> ServerTypes<'a> {
        ServerTypes {
            session,
            options,
            facts,
            natives: Vec::new(),
        }
    }

    fn columns(&self) -> &[CatalogColumn] {
        self.facts.map_or(&[], |facts| &facts.columns)
    }
}

impl TargetTypes for ServerTypes<'_> {
    type Type = ColumnForms;
    type Error = PlanFailure;

    const TAKES_NATIVE: bool = true;

    fn folds_names(&self) -> bool {
        false
    }

    fn target_columns(&self) -> Option<TargetColumns> {
        let facts = self.facts?;
        let name = |column: &CatalogColumn| column.name.clone();
        let filled = facts
            .columns
            .iter()
            .filter(|column| !column.generated && !column.of_versions);
        Some(TargetColumns {
            all: facts.columns.iter().map(name).collect(),
            filled: filled.map(name).collect(),
        })
    }

    fn existing(
        &self,
        known: &KnownColumns<'_>,
        column: usize,
    ) -> Result<(ColumnForms, bool), PlanError> {
        let column = &self.columns()[column];
        refuse_filled_by_server(known, column)?;
        let forms = ColumnForms {
            resolved: column.resolved.clone(),
            shape: None,
        };
        Ok((forms, !column.not_null))
    }

    fn named(
        &self,
        known: &KnownColumns<'_>,
        type_name: &str,
        column: &str,
    ) -> Result<ColumnForms, PlanFailure> {
        let resolved = wait(self.options, async {
            let resolved = types::resolve_name(self.session, type_name, column).await;
            resolved.map_err(|error| refused(known, error, type_name, column))
        })?;
        Ok(ColumnForms {
            resolved,
            shape: None,
        })
    }

    fn native(
        &mut self,
        mut forms: ColumnForms,
        sent: &NativeType,
    ) -> Result<ColumnForms, PlanFailure> {
        let catalog_type = forms.resolved.catalog_type;
        let is_same =
            |known: &&NativeAnswer| known.form == *sent && known.catalog_type == catalog_type;
        let passing = match self.natives.iter().find(is_same) {
            Some(known) => known.shape.clone(),
            None => {
                let shape = wait(self.options, async {
                    let passing = native_types::passing(self.session, sent, catalog_type);
                    Ok(passing.await.map_err(PostgresError::from)?)
                })?;
                self.natives.push(NativeAnswer {
                    form: sent.clone(),
                    catalog_type,
                    shape: shape.clone(),
                });
                shape
            }
        };
        if passing.is_some() {
            pass_unchanged(&mut forms.resolved, sent);
        }
        forms.shape = passing;
        Ok(forms)
    }

    fn required(&self) -> Vec<&str> {
        let required = self.columns().iter().filter(|column| {
            column.not_null
                && !column.has_default
                && !column.generated
                && !column.of_versions
                && !column.identity
        });
        required.map(|column| column.name.as_str()).collect()
    }
}

impl ResolvedColumns {
    /// The columns with the forms in which their values are sent. Refuses names and forms that the server does not take.
    pub fn of(
        target: &FlowTarget<'_>,
        columns: &[Column],
        types: Vec<ColumnForms>,
    ) -> Result<ResolvedColumns, PlanError> {
        let mut loaded = Loaded::default();
        for (column, forms) in columns.iter().zip(types) {
            loaded.push(column, forms);
        }
        let Loaded {
            type_sql,
            catalog_types,
            wire,
            native_shapes,
            new_columns,
            unchecked,
        } = loaded;
        if target.facts.is_none()
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
            return Err(target.mismatch(what, mend));
        }
        let forms = columns
            .iter()
            .map(|column| ColumnForm::new(&column.column_type))
            .collect();
        let wire = wire_form(columns, &type_sql, wire);
        refuse_text(target, columns, &wire)?;
        Ok(ResolvedColumns {
            forms,
            type_sql,
            catalog_types,
            wire,
            native_shapes,
            new_columns,
            unchecked,
        })
    }
}

/// The loaded columns that are resolved so far.
#[derive(Default)]
struct Loaded {
    type_sql: Vec<String>,
    catalog_types: Vec<(u32, i32)>,
    wire: Vec<Option<PgType>>,
    native_shapes: Vec<(usize, NativeShape)>,
    new_columns: Vec<NewColumn>,
    unchecked: Vec<String>,
}

impl Loaded {
    fn push(&mut self, column: &Column, forms: ColumnForms) {
        let ColumnForms { resolved, shape } = forms;
        if let Some(shape) = shape.filter(|shape| !shape.is_plain()) {
            self.native_shapes.push((self.type_sql.len(), shape));
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
    }
}

/// True if the server refused the text of a statement (class 42), or a value in it (class 22), such as the 0 of
/// `numeric(0)`.
fn is_of_words(code: &SqlState) -> bool {
    code.code().starts_with("42") || code.code().starts_with("22")
}

/// The error for a type that the server did not resolve. If the server refused the type itself, the package is wrong,
/// and the message names its flow.
fn refused(
    known: &KnownColumns<'_>,
    error: ClientError,
    type_name: &str,
    column: &str,
) -> PlanFailure {
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
                "name a type that the database has (`\\dT` of psql lists those it defines), or create this type there first; \
                 if the rows come from a database, you can {}",
                read_as_text(["...", &format!("{column}{AS_TEXT}")])
            );
            let mismatch = known.mismatch(what, hint.as_deref().unwrap_or(&own));
            mismatch.into()
        }
        error => PostgresError::from(error).into(),
    }
}

fn refuse_filled_by_server(
    known: &KnownColumns<'_>,
    column: &CatalogColumn,
) -> Result<(), PlanError> {
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
    Ok(())
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

/// Refuses values in binary form if another column can be sent only as text, because all columns are then sent as text.
fn refuse_text(
    target: &FlowTarget<'_>,
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
        (WireForm::Text { reason }, Some(column)) => Err(target.mismatch(
            format!(
                "column `{}` comes in binary form, but the rows must be sent as text: {reason}",
                column.name
            ),
            "read both columns in the same way: both as the source has them, or both as text (NAME::text)",
        )),
        _ => Ok(()),
    }
}
