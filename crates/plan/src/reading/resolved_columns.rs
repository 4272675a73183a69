//! The columns of a flow, resolved by the types of its destination.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_destination::ResolvedType;
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::native_type::NativeType;
use inrush_source::Source;

use crate::PlanError;
use crate::reading::columns::{KnownColumns, Match, TargetColumns, column};
use crate::steps::{BoundSteps, DerivedTarget, StepPlan};

/// The types of a destination, for the columns of one target.
pub trait TargetTypes {
    /// A type of a column, with the facts that the destination needs about it.
    type Type: ColumnTyped;
    /// The error of a call that asks the destination.
    type Error: From<PlanError> + From<inrush_destination::Error>;

    /// It takes values in the binary form of another database.
    const TAKES_NATIVE: bool = false;

    /// Names that differ only in case are one name.
    fn folds_names(&self) -> bool;

    /// The names of the target's columns, if it exists.
    fn target_columns(&self) -> Option<TargetColumns>;

    /// The type of a column of the existing target, by its index among all columns, and whether the column may be NULL. Refuses a
    /// column that cannot be filled.
    fn existing(
        &self,
        known: &KnownColumns<'_>,
        column: usize,
    ) -> Result<(Self::Type, bool), PlanError>;

    /// The type that a package names for a column.
    fn named(
        &self,
        known: &KnownColumns<'_>,
        type_name: &str,
        column: &str,
    ) -> Result<Self::Type, Self::Error>;

    /// The type of a column whose values come in this binary form. Only called if it [takes](TargetTypes::TAKES_NATIVE) such
    /// values.
    fn native(
        &mut self,
        resolved: Self::Type,
        _form: &NativeType,
    ) -> Result<Self::Type, Self::Error> {
        Ok(resolved)
    }

    /// The columns of the existing target that need a value.
    fn required(&self) -> Vec<&str>;
}

/// A type of a destination.
pub trait ColumnTyped: Clone {
    /// The type of the values that are sent.
    fn column_type(&self) -> &ColumnType;

    /// A column of this type is never NULL, whatever the package says.
    fn is_never_null(&self) -> bool {
        false
    }
}

impl ColumnTyped for ResolvedType {
    fn column_type(&self) -> &ColumnType {
        &self.column_type
    }
}

/// The columns of a flow, resolved. `T` is a type of the destination.
pub struct ResolvedColumns<T> {
    /// The columns that are loaded, in the package's order, or else in that of the files; derived ones come last.
    pub columns: Vec<Column>,
    /// Their types.
    pub types: Vec<T>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
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

impl<T> ResolvedColumns<T> {
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

/// Resolves the columns of a flow, against its target if that exists. `natives` has the form of each field whose values are in
/// the binary form of another database.
pub fn resolve<T: TargetTypes>(
    types: &mut T,
    known: &KnownColumns<'_>,
    natives: &[Option<NativeType>],
) -> Result<ResolvedColumns<T::Type>, T::Error> {
    let matches = known.matches(types.folds_names())?;
    let mut new = NewTypes {
        known,
        named: BTreeMap::new(),
    };
    let mut read: Vec<Column> = Vec::with_capacity(matches.columns.len());
    let mut passed = Vec::with_capacity(matches.columns.len());
    let mut loaded = Vec::with_capacity(matches.columns.len());
    for (index, found) in matches.columns.iter().enumerate() {
        let Match { detail, source, .. } = found;
        let place = found.place.filter(|_| known.target_columns.is_some());
        let (mut resolved, nullable) = match place {
            Some(place) => types.existing(known, place)?,
            None => {
                let type_name = match found.is_loaded {
                    true => known.type_name(detail)?,
                    false => known.type_name_for_steps(detail)?,
                };
                let resolved = new.resolve(types, type_name, &detail.name)?;
                let nullable = detail.nullable && !resolved.is_never_null();
                (resolved, nullable)
            }
        };
        let nullable = nullable && known.key != Some(detail.name.as_str());
        let field = source.field_index();
        if let Some(form) = field.and_then(|index| natives.get(index)?.as_ref()) {
            resolved = types.native(resolved, form)?;
        }
        let column_type = resolved.column_type().clone();
        read.push(column(known, detail, source, column_type, nullable));
        if found.is_loaded {
            passed.push(index);
            loaded.push(resolved);
        }
    }
    let (columns, read) = match known.steps {
        None => (read, None),
        Some(asked) => {
            let steps = asked.bind(&read, known.target_columns, known.target)?;
            let mut columns: Vec<Column> = passed.iter().map(|at| read[*at].clone()).collect();
            for derived in steps.derived() {
                let (resolved, nullable) = match derived.place {
                    Some(place) => types.existing(known, place)?,
                    None => (new.derived(types, derived)?, true),
                };
                let nullable = nullable && known.key != Some(derived.name.as_str());
                let column_type = resolved.column_type().clone();
                columns.push(BoundSteps::column(derived, column_type, nullable));
                loaded.push(resolved);
            }
            let read = ReadColumns {
                columns: read,
                passed,
                steps,
            };
            (columns, Some(read))
        }
    };
    if columns.is_empty() {
        let hint = match &read {
            Some(_) => "derive a column of the target, or load one of the source",
            None => "list at least one column that is not skipped",
        };
        return Err(known
            .mismatch("no column is loaded".to_owned(), hint)
            .into());
    }
    let mut filled: BTreeSet<&str> = matches.names();
    filled.extend(columns.iter().map(|column| column.name.as_str()));
    known.require(types.required().into_iter(), &filled)?;
    Ok(ResolvedColumns {
        columns,
        types: loaded,
        field_count: matches.field_count,
        read,
    })
}

/// Types of columns that the target does not have. Wide tables have few types, and many columns.
struct NewTypes<'a, T> {
    known: &'a KnownColumns<'a>,
    named: BTreeMap<String, T>,
}

impl<T: ColumnTyped> NewTypes<'_, T> {
    fn resolve<S: TargetTypes<Type = T>>(
        &mut self,
        types: &S,
        type_name: &str,
        column: &str,
    ) -> Result<T, S::Error> {
        if let Some(resolved) = self.named.get(type_name) {
            return Ok(resolved.clone());
        }
        let resolved = types.named(self.known, type_name, column)?;
        self.named.insert(type_name.to_owned(), resolved.clone());
        Ok(resolved)
    }

    fn derived<S: TargetTypes<Type = T>>(
        &mut self,
        types: &S,
        derived: &DerivedTarget,
    ) -> Result<T, S::Error> {
        match &derived.type_name {
            Some(type_name) => self.resolve(types, type_name, &derived.name),
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
