//! Reads the reference of a lookup into memory, through the sources of flows.

use std::sync::Arc;

use arrow_array::ArrayRef;
use inrush_convert::{ConvertError, Converter, RunStamp};
use inrush_package::{
    BoundValue, Flow, Fold, LookupSource, Package, Place, REFERENCE_BYTES_MAX, Step, Unmatched,
    UnmatchedWord,
};
use inrush_rows::chunk::{Chunk, RowNumbers};
use inrush_rows::column::Column;
use inrush_rows::column_policy::ValueSource;
use inrush_rows::ids::RunId;
use inrush_rows::quantity::{bytes, counted};
use inrush_rows::same_name::place_of;
use inrush_rows::suggest::{listed, suggestion};
use inrush_rows::type_name::TypeName;
use inrush_rows::typed_rows::TypedRows;
use inrush_scan::{Dialect, Records};
use inrush_source::SourceError;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::fold::Folds;
use inrush_transform::key::KeyClass;
use inrush_transform::lookup::{
    DiskBuilder, First, Members, Reference, ReferenceBuilder, ReferenceFault,
};
use inrush_transform::lookup_step::LookupSpec;
use inrush_transform::spec::InputColumn;
use inrush_transform::types::sql_name;

use super::faults;
use super::reference_rows::{Read, ReferenceRows};
use crate::error::PlanError;
use crate::options::PlanOptions;
use crate::reading::columns::{self, Match};
use crate::reading::flow_inputs::FlowAsked;

/// The lookup whose reference is read.
pub struct ReadReference<'a> {
    /// The package.
    pub package: &'a Package,
    /// The flow.
    pub flow: &'a Flow,
    /// The flow's name.
    pub flow_name: &'a str,
    /// The connection of its target, if it is known.
    pub connection: Option<&'a str>,
    /// The index of the step.
    pub step: usize,
    /// Keeps the reference for the next plan of the run.
    pub evaluator: &'a Evaluator,
    /// Opens the source.
    pub options: &'a PlanOptions<'a>,
}

/// The lookup of a step, with its reference.
pub fn read(
    reading: &ReadReference<'_>,
    step: &Step,
    source: &LookupSource,
) -> Result<LookupSpec, PlanError> {
    let pairs = |map: &Option<std::collections::BTreeMap<String, String>>| {
        let pairs = map.iter().flatten();
        pairs
            .map(|(own, other)| (own.clone(), other.clone()))
            .collect::<Vec<_>>()
    };
    let (on, take) = (pairs(&step.on), pairs(&step.take));
    let adds = step.adds_members();
    let declaration = (source, &on, &step.fold, &take, adds);
    let declaration = serde_json::to_string(&declaration).unwrap_or_default();
    let folds = folds(step);
    let name = source.shown_name();
    let reference = reading.evaluator.reference(&declaration, || {
        let read = reading.read(source, &name, &on, folds, &take, adds);
        read.map_err(|error| reading.placed(&name, setting_of(source), error))
    })?;
    let (keys, taken) = reference.columns().split_at(on.len());
    let on = on
        .into_iter()
        .zip(keys)
        .map(|((own, _), key)| (own, key.clone()));
    let take: Vec<InputColumn> = take
        .into_iter()
        .zip(taken)
        .map(|((own, _), column)| InputColumn {
            name: own,
            column_type: column.column_type.clone(),
        })
        .collect();
    let unmatched = match &step.unmatched {
        None | Some(Unmatched::Word(UnmatchedWord::Reject)) => {
            inrush_transform::lookup::Unmatched::Reject
        }
        Some(Unmatched::Word(UnmatchedWord::Null)) => inrush_transform::lookup::Unmatched::Null,
        Some(Unmatched::Word(UnmatchedWord::Add)) => {
            reading.refuse_odd_members(&name, keys, &take)?;
            let members = Members::new(keys.to_vec());
            inrush_transform::lookup::Unmatched::Add(Arc::new(members))
        }
        Some(Unmatched::Default(values)) => {
            let values = take.iter().map(|column| {
                let value = values.default.get(&column.name);
                reading.default_value(&name, column, value.map(text_of).unwrap_or_default())
            });
            inrush_transform::lookup::Unmatched::Default(values.collect::<Result<_, _>>()?)
        }
    };
    Ok(LookupSpec {
        name,
        on: on.collect(),
        folds,
        take,
        unmatched,
        reference,
    })
}

/// The setting that says what is read.
fn setting_of(source: &LookupSource) -> &'static str {
    let has_files = !source.files.patterns().is_empty();
    match (&source.query, &source.filter, has_files) {
        (Some(_), ..) => "lookup.query",
        (None, Some(_), _) => "lookup.where",
        (None, None, true) => "lookup.files",
        (None, None, false) => "lookup.table",
    }
}

/// The differences between texts that the lookup of a step ignores.
fn folds(step: &Step) -> Folds {
    let has = |fold| step.folds().any(|own| own == fold);
    Folds {
        case: has(Fold::Case),
        accents: has(Fold::Accents),
        blanks: has(Fold::Blanks),
    }
}

fn text_of(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(number) => number.to_string(),
        BoundValue::Text(text) => text.clone(),
    }
}

impl ReadReference<'_> {
    /// Refuses the lookup.
    pub fn refused(&self, name: &str, what: &str, hint: &str) -> PlanError {
        self.refused_at("lookup", name, what, hint)
    }

    /// Refuses a setting of the step.
    fn refused_at(&self, setting: &str, name: &str, what: &str, hint: &str) -> PlanError {
        let what = format!("step {}, the lookup in {name}: {what}", self.step + 1);
        faults::at(self.place(setting), what, hint)
    }

    /// The place of a setting of the step.
    fn place(&self, setting: &str) -> Place {
        let flow = self.package.index_of(self.flow);
        let path = format!("flow[{flow}].step[{}].{setting}", self.step);
        self.package.origin.place(&path)
    }

    /// The error of a source, with the place of the lookup. If the run was stopped, the error stays as it is.
    fn placed(&self, name: &str, setting: &str, error: PlanError) -> PlanError {
        match error {
            error @ (PlanError::Package(_)
            | PlanError::Reference { .. }
            | PlanError::Source(SourceError::Stopped { .. })) => error,
            error => PlanError::Reference {
                place: Box::new(self.place(setting)),
                step: self.step + 1,
                name: name.to_owned(),
                cause: Box::new(error),
            },
        }
    }

    /// Reads all rows of the reference.
    fn read(
        &self,
        source: &LookupSource,
        name: &str,
        on: &[(String, String)],
        folds: Folds,
        take: &[(String, String)],
        may_be_empty: bool,
    ) -> Result<Reference, PlanError> {
        // The settings that name columns of the reference, and the names.
        let of_keys = on.iter().map(|(key, own)| (format!("on.{key}"), own));
        let of_taken = take.iter().map(|(new, own)| (format!("take.{new}"), own));
        let wanted = of_keys.chain(of_taken);
        let mut wanted: Vec<(String, String)> = wanted
            .map(|(setting, own)| (setting, own.clone()))
            .collect();
        let first_by = source.first_by();
        wanted.extend(first_by.map(|(column, _)| ("lookup.first".to_owned(), column.to_owned())));
        let mut asked_for: Vec<String> = Vec::new();
        for (_, own) in &wanted {
            if !asked_for.contains(own) {
                asked_for.push(own.clone());
            }
        }
        let flow_name = format!("step {} of {}", self.step + 1, self.flow_name);
        let flow = Flow {
            connection: self.connection.map(str::to_owned),
            ..source.flow(&flow_name, asked_for)
        };
        // Everything that is read from a connection is opened at one snapshot, so the reference is added to the package.
        let mut package = self.package.clone();
        package.flows.push(flow.clone());
        let asked = FlowAsked {
            flow: &flow,
            name: &flow_name,
            folder: self.options.folder,
            package: &package,
            filled: None,
            since: None,
            ranges: &[],
            is_reference: true,
        };
        let mut notes = Vec::new();
        let mut inputs = self.options.sources.look(&asked, &mut notes)?;
        let known = inputs.known(&asked, name, None, None);
        let matches = known.matches(false)?;
        let names = matches.columns.iter();
        let names: Vec<&str> = names.map(|found| found.detail.name.as_str()).collect();
        let is_table = source.connection.is_some();
        let mut columns: Vec<Column> = Vec::new();
        let mut places = Vec::with_capacity(wanted.len());
        for (setting, own) in &wanted {
            let found = match place_of(own, names.iter().copied()) {
                Ok(found) => &matches.columns[found],
                Err(several) => return Err(self.no_column(name, setting, own, &names, &several)),
            };
            let Match { detail, source, .. } = found;
            let own = &detail.name;
            let place = columns.iter().position(|column| column.name == *own);
            places.push(place.unwrap_or(columns.len()));
            if place.is_none() {
                let type_name = known.type_name(detail)?;
                let column_type = TypeName::parse(type_name).and_then(|it| it.column_type());
                let column_type = column_type.ok_or_else(|| {
                    let what =
                        format!("`{own}` has the type {type_name}, which steps do not support");
                    self.refused_at(
                        setting,
                        name,
                        &what,
                        match is_table {
                            true => "read it with a `query` that casts it, for example to text",
                            false => "write another type in `columns`, such as bigint, numeric(18,2), text, date or timestamp",
                        },
                    )
                })?;
                columns.push(columns::column(&known, detail, source, column_type, true));
            }
        }
        let field_count = matches.field_count;
        let opened = inputs.settle(&flow, &flow_name, &mut columns, field_count)?;
        let mut keys = Vec::with_capacity(on.len());
        for (place, (setting, _)) in places[..on.len()].iter().zip(&wanted) {
            let column = &columns[*place];
            let class = KeyClass::of(&column.column_type).ok_or_else(|| {
                let what = format!("`{}` has a type whose values cannot be keys", column.name);
                self.refused_at(
                    setting,
                    name,
                    &what,
                    "compare integers, decimals, texts, dates, times, booleans or uuids",
                )
            })?;
            keys.push((*place, class.folded(folds)));
        }
        let is_folded = |(_, class): &(usize, KeyClass)| matches!(class, KeyClass::Folded(_));
        if !folds.is_none() && !keys.iter().any(is_folded) {
            return Err(self.refused_at(
                "fold",
                name,
                "`fold` is for texts, but no column of the key is a text",
                "remove `fold`, or compare columns of texts",
            ));
        }
        let bytes_max = source.memory_bytes_max.unwrap_or(REFERENCE_BYTES_MAX);
        let taken_places = on.len()..on.len() + take.len();
        let first = match first_by {
            None => None,
            Some((column, is_descending)) => {
                let place = places[taken_places.end];
                if !First::orders(&columns[place].column_type) {
                    let what =
                        format!("`first` names `{column}`, and rows cannot be ordered by its type");
                    return Err(self.refused_at(
                        "lookup.first",
                        name,
                        &what,
                        "order by a number, a text, a date or a time",
                    ));
                }
                Some(First {
                    column: place,
                    is_descending,
                })
            }
        };
        let own_columns = places[..taken_places.end].iter().map(|place| InputColumn {
            name: columns[*place].name.clone(),
            column_type: columns[*place].column_type.clone(),
        });
        let own_columns: Vec<InputColumn> = own_columns.collect();
        let taken = places[taken_places].to_vec();
        let converter = Converter::new(&columns, &inputs.dialect, field_count);
        let converter = converter.map_err(|error| {
            self.refused(
                name,
                &error.to_string(),
                "correct the columns of the reference",
            )
        })?;
        let mut rows = ReferenceRows {
            reading: self,
            name,
            folds,
            source: &*opened,
            converter: converter.with_run(RunStamp {
                run_id: RunId::new(0),
                started_at_microseconds: 0,
            }),
        };
        let mut builder =
            ReferenceBuilder::new(keys.clone(), taken.clone(), bytes_max).with_first(first);
        let reference = match rows.each(&mut |batch| builder.add(batch))? {
            Read::All => builder.build(own_columns),
            Read::TooLarge(fault) if rows.is_read_once() => {
                return Err(self.fault(name, folds, &fault));
            }
            Read::TooLarge(_) => {
                drop(builder);
                let mut builder = DiskBuilder::new(keys, taken, first, bytes_max)
                    .map_err(|fault| self.fault(name, folds, &fault))?;
                rows.each(&mut |batch| builder.add(batch))?;
                let disk = builder.build(&own_columns);
                disk.map(|disk| Reference::on_disk(disk, own_columns, bytes_max))
            }
        };
        let reference = reference.map_err(|fault| self.fault(name, folds, &fault))?;
        match reference.key_count() {
            0 if !may_be_empty => Err(self.refused(
                name,
                "it has no rows with a key, so no row of the flow would find a match",
                "load the reference before this flow, or look at its `where` or `query`",
            )),
            _ => Ok(reference),
        }
    }

    /// The error of a setting that names a column which the reference does not have. `several` are the places of columns whose
    /// names differ from this name only in case.
    fn no_column(
        &self,
        name: &str,
        setting: &str,
        own: &str,
        names: &[&str],
        several: &[usize],
    ) -> PlanError {
        let is_first = setting == "lookup.first";
        if is_first && own.is_empty() {
            let hint = "write a column of the reference, as in first = \"changed_at desc\", or remove `first`";
            return self.refused_at(setting, name, "`first` names no column", hint);
        }
        if is_first && own.contains([',', ' ']) {
            let what =
                format!("`first` orders by one column, and the reference has no column `{own}`");
            let hint = "write one column of the reference, as in first = \"changed_at desc\"; to order by several columns, \
                        number the rows in a `query`: row_number() OVER (ORDER BY ...) AS place";
            return self.refused_at(setting, name, &what, hint);
        }
        if !several.is_empty() {
            let alike = listed(several.iter().map(|place| names[*place]));
            let what = format!("`{own}` is ambiguous: the reference has the columns {alike}");
            return self.refused_at(setting, name, &what, "spell it exactly as one of them");
        }
        let columns = listed(names.iter().copied());
        let what = format!("it has no column `{own}`; its columns are {columns}");
        let instead = match is_first {
            true => "order by one of its columns, as in first = \"changed_at desc\"",
            false => "name a column of the reference",
        };
        let hint = match suggestion(own, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => instead.to_owned(),
        };
        self.refused_at(setting, name, &what, &hint)
    }

    /// Refuses a reference whose keys or numbers have types that members cannot have.
    fn refuse_odd_members(
        &self,
        name: &str,
        keys: &[InputColumn],
        take: &[InputColumn],
    ) -> Result<(), PlanError> {
        if let Some(key) = keys.iter().find(|key| !Members::may_have(&key.column_type)) {
            let what = format!(
                "unmatched = \"add\" adds keys of integers, decimals, uuids and texts of any length, and `{}` has another type",
                key.name
            );
            return Err(self.refused(
                name,
                &what,
                "use unmatched = \"reject\", and add the members before the load",
            ));
        }
        let is_number = |column: &&InputColumn| {
            use inrush_rows::column_type::ColumnType;
            matches!(
                column.column_type,
                ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64
            )
        };
        match take.iter().find(|column| !is_number(column)) {
            None => Ok(()),
            Some(column) => Err(self.refused(
                name,
                &format!(
                    "unmatched = \"add\" numbers the members that it adds, but the column taken as `{}` is not an integer",
                    column.name
                ),
                "take the identity column of the reference",
            )),
        }
    }

    /// The error of a reference that cannot be used.
    pub fn fault(&self, name: &str, folds: Folds, fault: &ReferenceFault) -> PlanError {
        let (what, hint) = match fault {
            ReferenceFault::Duplicate { is_tie: true, .. } => (
                fault.to_string(),
                "order `first` by a column in which the rows of a key differ, or exclude rows with `where`",
            ),
            ReferenceFault::Duplicate { .. } if !folds.is_none() => (
                format!("{fault}, if the differences of `fold` are ignored"),
                "fold less, exclude rows with `where`, or say which row is used, as in first = \"changed_at desc\"",
            ),
            ReferenceFault::Duplicate { is_tie: false, .. } => (
                fault.to_string(),
                "a row may have only one match: compare more columns in `on`, exclude rows with `where`, or say which row \
                 is used, as in first = \"changed_at desc\"",
            ),
            ReferenceFault::Disk { .. } => (
                fault.to_string(),
                "make room there, name another folder with TMPDIR, or raise memory_bytes_max of the lookup",
            ),
            ReferenceFault::TooLarge { limit, rows } => (
                format!(
                    "it needs more than {} of memory: {} were read",
                    bytes(*limit),
                    counted(*rows, "row")
                ),
                "raise memory_bytes_max of the lookup, or write the rows into a file first: a reference that does not fit into \
                 memory is read a second time, but a pipe can be read only once",
            ),
            ReferenceFault::Engine { .. } => (
                fault.to_string(),
                "run the same command again; if it fails again, report it",
            ),
        };
        self.refused(name, &what, hint)
    }

    /// One value of a type, read as a field would be.
    fn default_value(
        &self,
        name: &str,
        column: &InputColumn,
        text: String,
    ) -> Result<ArrayRef, PlanError> {
        let own = Column {
            source: ValueSource::Constant(text),
            ..Column::new(&column.name, column.column_type.clone(), 0)
        };
        let mut converter = Converter::new(&[own], &Dialect::csv(), 0).map_err(|error| {
            let what = match error {
                ConvertError::TextInvalid { text, .. } => format!(
                    "the default {text:?} of `{}` is no value of its type, {}",
                    column.name,
                    sql_name(&column.column_type)
                ),
                error => format!("the default of `{}`: {error}", column.name),
            };
            let setting = format!("unmatched.default.{}", column.name);
            let hint = "write a value of the type of the taken column";
            self.refused_at(&setting, name, &what, hint)
        })?;
        let row = TypedRows {
            columns: Vec::new(),
            row_count: 1,
            content: Vec::new(),
            bytes_count: 0,
            faults: Vec::new(),
        };
        let mut records = Records::default();
        let name = Arc::from(std::path::Path::new("default"));
        let chunk = Chunk::of_rows(&name, 0, row, Arc::new(RowNumbers), &mut records);
        let batch = converter.convert(&chunk, &records, 0..1, &mut Vec::new());
        Ok(Arc::clone(batch.column(0)))
    }
}
