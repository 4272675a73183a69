//! Decides which field of the files fills each column of the target, and the column's type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use inrush_package::{ColumnDetail, ColumnNull, FieldChoice, Format, Place, quoted_where_needed};
use inrush_rows::column::{Column, ColumnType, SpecialType};
use inrush_rows::column_policy::{
    BooleanWords, ColumnPolicies, FieldDefault, NumberForm, ValueSource,
};

use crate::error::PlanError;
use crate::reading::fields::{self, Assigned, Assignment, FieldOrigin};
use crate::reading::name_index::NameIndex;
use crate::steps::{AskedSteps, faults};

/// The facts of a flow's columns that are known before the catalog is read.
pub struct KnownColumns<'a> {
    /// The flow's name.
    pub flow: &'a str,
    /// The place in the package that names the columns, or the inputs that name them; `None` if it is not known.
    pub place: Option<Place>,
    /// The target as SQL names it.
    pub target: &'a str,
    /// Columns that the package lists.
    pub details: &'a [ColumnDetail],
    /// The files' header.
    pub header: Option<&'a [String]>,
    /// The file that contains the header.
    pub header_file: Option<&'a Path>,
    /// Whether the fields are those of files or of a database.
    pub origin: FieldOrigin,
    /// The number of fields of the first record, if it is known and needed.
    pub first_field_count: Option<usize>,
    /// The format of the files.
    pub format: &'a Format,
    /// The columns of the target, if it exists.
    pub target_columns: Option<&'a TargetColumns>,
    /// The columns of the partition key, which are never NULL.
    pub key: Option<&'a str>,
    /// The steps of the flow, if it has any.
    pub steps: Option<&'a AskedSteps<'a>>,
    /// The columns that the source itself declares. They give the types of columns that only steps use.
    pub own_columns: &'a [ColumnDetail],
}

/// The names of a target's columns.
#[derive(Clone, Debug, Default)]
pub struct TargetColumns {
    /// All columns, in the target's order.
    pub all: Vec<String>,
    /// Columns that can be filled: those that the table does not compute itself.
    pub filled: Vec<String>,
}

/// Columns that the files fill, matched with those of the target.
pub struct Matches {
    /// The columns that are loaded, in the package's order if it lists them, else in that of the files.
    pub columns: Vec<Match>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
}

/// A column that the files fill.
pub struct Match {
    /// The column.
    pub detail: ColumnDetail,
    /// The source of its values.
    pub source: ValueSource,
    /// Its index among all columns of the target; `None` if the target does not have it, or does not exist yet.
    pub place: Option<usize>,
    /// False if only the steps of the flow use it.
    pub is_loaded: bool,
}

impl Matches {
    /// The names of the columns that are filled.
    pub fn names(&self) -> BTreeSet<&str> {
        let columns = self.columns.iter().filter(|it| it.is_loaded);
        columns.map(|it| it.detail.name.as_str()).collect()
    }
}

impl KnownColumns<'_> {
    /// The columns that the files fill, each once, and their places in the target. If `folds_names`, names that differ only in
    /// case are one name. The time grows with the number of columns, not with its square.
    pub fn matches(&self, folds_names: bool) -> Result<Matches, PlanError> {
        let Assignment {
            columns,
            field_count,
        } = self.assignment()?;
        self.refuse_twice(&columns, folds_names)?;
        let names = self
            .target_columns
            .map(|target| target.all.iter().map(String::as_str));
        let places = places(columns.iter().map(|it| it.detail.name.as_str()), names);
        let is_unpivoted = |own: &Assigned| {
            let known = columns.iter().map(|other| other.detail.name.as_str());
            let steps = self.steps;
            steps.is_some_and(|steps| steps.unpivots(&own.detail.name, known))
        };
        let are_unpivoted: Vec<bool> = columns.iter().map(is_unpivoted).collect();
        let columns = columns.into_iter().zip(places).zip(are_unpivoted);
        let columns = columns.map(|((Assigned { detail, source }, place), is_unpivoted)| {
            let is_missing = place.is_none() && self.target_columns.is_some();
            let is_for_steps =
                !detail.load || is_unpivoted || is_missing && self.is_used(&detail.name);
            if let (true, false, Some(target)) = (is_missing, is_for_steps, self.target_columns) {
                return Err(self.no_column(&detail.name, target));
            }
            Ok(Match {
                detail,
                source,
                place,
                is_loaded: !is_for_steps,
            })
        });
        Ok(Matches {
            columns: columns.collect::<Result<_, _>>()?,
            field_count,
        })
    }

    fn refuse_twice(&self, columns: &[Assigned], folds_names: bool) -> Result<(), PlanError> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut folded: BTreeSet<String> = BTreeSet::new();
        for Assigned { detail, .. } in columns {
            let is_same = !seen.insert(&detail.name);
            let is_folded = folds_names && !folded.insert(detail.name.to_lowercase());
            if is_same || is_folded {
                return Err(self.mismatch_in_package(
                    format!(
                        "{} the column `{}` twice{}",
                        self.origin.who_have(),
                        detail.name,
                        if is_same {
                            ""
                        } else {
                            ", in two spellings that mean the same name here"
                        }
                    ),
                    "each column of the target can be filled once",
                ));
            }
        }
        Ok(())
    }

    /// An error of this flow.
    pub fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }

    /// An error of the names of this flow's columns, with their place in the package.
    fn mismatch_in_package(&self, what: String, hint: &str) -> PlanError {
        match &self.place {
            Some(place) => faults::at(place.clone(), format!("flow `{}`: {what}", self.flow), hint),
            None => self.mismatch(what, hint),
        }
    }

    /// True if a step of the flow names this column.
    fn is_used(&self, column: &str) -> bool {
        self.steps.is_some_and(|steps| steps.uses(column))
    }

    /// The type that the source declares for a column. It is used if the package names no type.
    fn own_type<'d>(&'d self, detail: &ColumnDetail) -> Option<&'d str> {
        fn field(detail: &ColumnDetail) -> &str {
            match &detail.field {
                Some(FieldChoice::Name(name)) => name,
                _ => &detail.name,
            }
        }
        let mut own = self.own_columns.iter();
        let own = own.find(|own| field(own) == field(detail))?;
        own.type_name.as_deref()
    }

    /// The name of the type of a column that only the steps use.
    pub fn type_name_for_steps<'d>(
        &'d self,
        detail: &'d ColumnDetail,
    ) -> Result<&'d str, PlanError> {
        let declared = detail.type_name.as_deref();
        declared.or_else(|| self.own_type(detail)).ok_or_else(|| {
            self.mismatch(
                format!(
                    "the steps use column `{}`, but {} does not have it and its type is not declared",
                    detail.name, self.target
                ),
                "list the columns, and write \"name type\" for this one",
            )
        })
    }

    /// The name of the type that a column of a new target gets.
    pub fn type_name<'d>(&self, detail: &'d ColumnDetail) -> Result<&'d str, PlanError> {
        detail.type_name.as_deref().ok_or_else(|| {
            self.mismatch(
                format!(
                    "column `{}` has no type, and {} does not exist yet",
                    detail.name, self.target
                ),
                "write \"name type\"",
            )
        })
    }

    /// Matches the columns with the fields or settings that fill them.
    pub fn assignment(&self) -> Result<Assignment, PlanError> {
        let in_order = |details: Vec<ColumnDetail>| Assignment {
            field_count: details.len(),
            columns: details
                .into_iter()
                .enumerate()
                .map(|(index, detail)| Assigned {
                    detail,
                    source: ValueSource::Field(index),
                })
                .collect(),
        };
        match (self.details, self.header, self.target_columns) {
            ([], Some(header), Some(target)) => {
                let index = NameIndex::new(target.all.iter().map(String::as_str));
                header
                    .iter()
                    .map(|field| match index.places(field.trim()) {
                        [place] => Ok(ColumnDetail::named(&target.all[*place])),
                        _ if self.is_used(field.trim()) => Ok(ColumnDetail::named(field.trim())),
                        _ => Err(self.no_column(field, target)),
                    })
                    .collect::<Result<_, _>>()
                    .map(in_order)
            }
            ([], None, Some(target)) => {
                let is_derived =
                    |name: &&String| self.steps.is_some_and(|steps| steps.derives(name));
                let filled = target.filled.iter().filter(|name| !is_derived(name));
                Ok(in_order(filled.map(|name| ColumnDetail::named(name)).collect()))
            }
            ([], _, None) => Err(self.mismatch(
                format!("{} does not exist, and no columns are given to create it", self.target),
                "give the columns: columns = [\"id bigint not null\", ...], or --columns \"id bigint, ...\"",
            )),
            (details, Some(header), _) => fields::by_header(details, header, self.origin)
                .map_err(|mismatch| mismatch.in_file(self.header_file).of_flow(self.flow)),
            (details, None, _) => fields::by_place(details, self.first_field_count)
                .map_err(|mismatch| mismatch.of_flow(self.flow)),
        }
    }

    /// The note about columns of the target that get no value, because a step turns the source's columns with these names into
    /// rows.
    pub fn note_of_unpivoted(&self) -> Option<String> {
        let target = self.target_columns?;
        let known = || target.all.iter().map(String::as_str);
        let is_unpivoted = |name: &&String| {
            self.steps
                .is_some_and(|steps| steps.unpivots(name, known()))
        };
        let names: Vec<&String> = target.filled.iter().filter(is_unpivoted).collect();
        (!names.is_empty()).then(|| {
            format!(
                "{} has {}, which `unpivot` turns into rows: new rows get the DEFAULT there, or NULL",
                self.target,
                listed(&names)
            )
        })
    }

    /// Refuses files without a column that needs a value: one of `required` that is not `filled`.
    pub fn require<'c>(
        &self,
        required: impl Iterator<Item = &'c str>,
        filled: &BTreeSet<&str>,
    ) -> Result<(), PlanError> {
        let missing: Vec<&str> = required.filter(|name| !filled.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let unpivoted: Vec<&str> = missing
            .iter()
            .copied()
            .filter(|name| {
                let known = missing.iter().copied();
                self.steps.is_some_and(|steps| steps.unpivots(name, known))
            })
            .collect();
        if !unpivoted.is_empty() {
            return Err(self.mismatch(
                format!(
                    "`unpivot` turns {} into rows, so it is not loaded, and {} does not allow it to be NULL",
                    listed(&unpivoted),
                    self.target
                ),
                "give the column a DEFAULT or remove its NOT NULL, or derive it under another name in an earlier \
                 step, and unpivot that column",
            ));
        }
        Err(self.mismatch(
            format!(
                "{} no column {}, which {} does not allow to be NULL",
                self.origin.who_have(),
                listed(&missing),
                self.target
            ),
            match self.origin {
                FieldOrigin::Files => "add it to the files, or give the column a DEFAULT",
                FieldOrigin::Database => {
                    "read it, too (`columns` of the source), or give the column a DEFAULT"
                }
            },
        ))
    }

    /// The error for a column that the target does not have.
    pub fn no_column(&self, field: &str, target: &TargetColumns) -> PlanError {
        let names = &target.all;
        let near = names
            .iter()
            .map(|name| (strsim::jaro_winkler(name, field), name))
            .filter(|(nearness, _)| *nearness > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        self.mismatch(
            format!(
                "{}{} has no column `{field}`, which {}; its columns are {}",
                fields::place(self.header_file),
                self.target,
                match self.origin {
                    FieldOrigin::Files => "is in the header",
                    FieldOrigin::Database => "the source has",
                },
                listed(names)
            ),
            &match (near, self.origin) {
                (Some((_, name)), FieldOrigin::Files) => format!("did you mean `{name}`?"),
                (None, FieldOrigin::Files) => {
                    "list the columns that exist, in the order of the file".to_owned()
                }
                (Some((_, name)), FieldOrigin::Database) => format!(
                    "did you mean `{name}`? Give the column this name, by a query or by `columns` of the flow, or leave it out"
                ),
                (None, FieldOrigin::Database) => {
                    "read only columns that exist there (`columns` of the source)".to_owned()
                }
            },
        )
    }
}

/// Names as a package writes them.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names = names.iter().map(|name| quoted_where_needed(name.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

/// The position of each name in a list; `None` if the list does not have the name, or if there is no list. The list is
/// read once, for any number of names.
fn places<'a>(
    names: impl Iterator<Item = &'a str>,
    list: Option<impl Iterator<Item = &'a str>>,
) -> Vec<Option<usize>> {
    let places: BTreeMap<&str, usize> = list
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(place, name)| (name, place))
        .collect();
    names.map(|name| places.get(name).copied()).collect()
}

/// A column with the settings of its package.
pub fn column(
    known: &KnownColumns<'_>,
    detail: &ColumnDetail,
    source: &ValueSource,
    column_type: ColumnType,
    nullable: bool,
) -> Column {
    Column {
        name: detail.name.clone(),
        nullable,
        source: source.clone(),
        formats: detail
            .format
            .as_ref()
            .map_or_else(Vec::new, |format| format.patterns().to_vec()),
        zone: detail.zone.clone(),
        policies: ColumnPolicies {
            numbers: number_form(detail, known.format, &column_type),
            lossless: is_lossless(detail, known.format, &column_type),
            nearest_floats: takes_nearest_floats(detail, known.format, &column_type),
            ..policies(detail)
        },
        column_type,
    }
}

/// The number format of a column: its own setting, or else that of the format.
fn number_form(detail: &ColumnDetail, format: &Format, column_type: &ColumnType) -> NumberForm {
    let separator = |text: &Option<String>| text.as_ref().and_then(|text| text.chars().next());
    let own = (&detail.decimal_separator, &detail.group_separator);
    let (decimal, group) = match own {
        (None, None) if column_type.is_number() && detail.reads_files() => {
            (&format.decimal_separator, &format.group_separator)
        }
        own => own,
    };
    NumberForm {
        decimal_separator: separator(decimal),
        group_separator: separator(group),
        negative: detail.negative.unwrap_or_default(),
    }
}

/// True if the numbers of a column must stay exact: by the column's own setting, or else by that of the format.
fn is_lossless(detail: &ColumnDetail, format: &Format, column_type: &ColumnType) -> bool {
    let of_format =
        || format.lossless == Some(true) && column_type.is_number() && detail.source.is_none();
    detail.lossless.unwrap_or_else(of_format)
}

/// True if a column of floats, or of arrays of floats, takes the nearest float of a number: only if `lossless = false`
/// is set for the column or for the format.
fn takes_nearest_floats(detail: &ColumnDetail, format: &Format, column_type: &ColumnType) -> bool {
    let declared = detail.lossless.or(format.lossless);
    has_floats(column_type) && detail.reads_files() && declared == Some(false)
}

fn has_floats(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Float32 | ColumnType::Float64 => true,
        ColumnType::Special(SpecialType::Array { element, .. }) => has_floats(element),
        _ => false,
    }
}

/// The policies of a column, as its package sets them.
fn policies(detail: &ColumnDetail) -> ColumnPolicies {
    ColumnPolicies {
        trim: detail.trim,
        trim_quoted: detail.trim_quoted,
        null: detail.null.as_ref().map(|null| match null {
            ColumnNull::Text(marker) => vec![marker.clone()],
            ColumnNull::Texts(markers) => markers.clone(),
            ColumnNull::Never(_) => Vec::new(),
        }),
        default: detail.default.as_ref().map(|text| FieldDefault {
            text: text.clone(),
            applies_to: detail.default_for.unwrap_or_default(),
        }),
        numbers: NumberForm::default(),
        nan: detail.nan.unwrap_or_default(),
        words: match (&detail.true_words, &detail.false_words) {
            (None, None) => None,
            (yes, no) => Some(BooleanWords {
                true_words: yes.clone().unwrap_or_default(),
                false_words: no.clone().unwrap_or_default(),
            }),
        },
        year_pivot: detail.year_pivot,
        on_truncate: detail.on_truncate.unwrap_or_default(),
        round: detail.round.unwrap_or_default(),
        lossless: false,
        nearest_floats: false,
        exact: false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// 20,000 columns, in the opposite order of the target's: each name is looked up once.
    #[test]
    fn wide_tables_are_matched_by_one_pass() {
        const COLUMNS: usize = 20_000;
        let names: Vec<String> = (0..COLUMNS).map(|number| format!("c{number}")).collect();
        let steps = Cell::new(0);
        let step = |_: &&String| steps.set(steps.get() + 1);
        let list = names.iter().inspect(step);
        let asked = names.iter().rev().inspect(step);
        let found = places(asked.map(String::as_str), Some(list.map(String::as_str)));
        assert_eq!(steps.get(), 2 * COLUMNS);
        assert!(found.into_iter().eq((0..COLUMNS).rev().map(Some)));
    }

    #[test]
    fn a_name_that_the_list_lacks_has_no_place() {
        let list = || Some(["a", "A", "b"].into_iter());
        assert_eq!(places(["A", "c"].into_iter(), list()), [Some(1), None]);
        let none: Option<std::iter::Empty<&str>> = None;
        assert_eq!(places(["a"].into_iter(), none), [None]);
    }
}
