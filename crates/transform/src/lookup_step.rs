//! A lookup as a step of a flow: it is planned, and adds the columns of its reference to the rows.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;
use inrush_rows::column_type::ColumnType;

use crate::error::{RunError, StepError, StepErrorKind, arrow_error};
use crate::fold::Folds;
use crate::key::KeyClass;
use crate::lookup::{Found, Lookup, Members, Reference, Unmatched};
use crate::outcome::{self, FaultKind, RowFault, StepCount, Stepped};
use crate::plan::is_reserved;
use crate::spec::{InputColumn, column_at};
use crate::types::sql_name;

/// A lookup whose reference is in memory.
#[derive(Clone, Debug)]
pub struct LookupSpec {
    /// The name of the reference for people, such as `warehouse.dim_customer`.
    pub name: String,
    /// The reference.
    pub reference: Arc<Reference>,
    /// The key, as pairs of columns: a column of the flow, and the column of the reference with which it is compared.
    pub on: Vec<(String, InputColumn)>,
    /// Differences between texts of the key that are ignored.
    pub folds: Folds,
    /// The columns that are added to the rows: their names in the flow, with the types of the reference.
    pub take: Vec<InputColumn>,
    /// What happens to rows whose key is not in the reference.
    pub unmatched: Unmatched,
}

/// A lookup that can run.
#[derive(Clone, Debug)]
pub struct PlannedLookup {
    /// Its declaration.
    pub spec: LookupSpec,
    /// The columns of the flow with the key.
    pub named: Vec<String>,
    pub(crate) lookup: Lookup,
}

impl PlannedLookup {
    /// The members that the lookup adds to its reference; `None` if it adds none.
    pub fn members(&self) -> Option<&Arc<Members>> {
        match &self.spec.unmatched {
            Unmatched::Add(members) => Some(members),
            Unmatched::Reject | Unmatched::Null | Unmatched::Default(_) => None,
        }
    }
}

pub(crate) fn planned_lookup(
    spec: &LookupSpec,
    visible: &[InputColumn],
    step: usize,
) -> Result<PlannedLookup, Vec<StepError>> {
    let mut faults = Vec::new();
    let fault = |setting: String, text: &str, kind: StepErrorKind| StepError {
        step,
        setting,
        expression: text.to_owned(),
        range: None,
        kind,
    };
    let mut keys = Vec::new();
    let mut named = Vec::new();
    for (name, own) in &spec.on {
        let setting = format!("on.{name}");
        let at = match column_at(name, visible) {
            Ok(at) => at,
            Err(kind) => {
                faults.push(fault(setting, name, kind));
                continue;
            }
        };
        match key_class(&visible[at].column_type, &own.column_type) {
            Some(class) => keys.push((at, class.folded(spec.folds))),
            None => {
                let kind = StepErrorKind::KeyTypes {
                    column: name.clone(),
                    column_type: sql_name(&visible[at].column_type),
                    reference: own.name.clone(),
                    reference_type: sql_name(&own.column_type),
                };
                faults.push(fault(setting, name, kind));
            }
        }
        named.push(visible[at].name.clone());
    }
    for (at, column) in spec.take.iter().enumerate() {
        let name = column.name.clone();
        let taken = spec.take[..at].iter().map(|earlier| &earlier.name);
        let mut others = visible.iter().map(|other| &other.name).chain(taken);
        let kind = if is_reserved(&name) {
            StepErrorKind::Name { name: name.clone() }
        } else if others.any(|other| other.eq_ignore_ascii_case(&name)) {
            StepErrorKind::HidesColumn { name: name.clone() }
        } else {
            continue;
        };
        faults.push(fault(format!("take.{name}"), &name, kind));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let lookup = Lookup::new(&spec.reference, keys, &spec.unmatched);
    Ok(PlannedLookup {
        spec: spec.clone(),
        named,
        lookup,
    })
}

/// How values of two types are compared; `None` if they cannot be equal.
fn key_class(column: &ColumnType, reference: &ColumnType) -> Option<KeyClass> {
    let class = KeyClass::of(column)?;
    (KeyClass::of(reference) == Some(class)).then_some(class)
}

/// Adds the columns of a reference to the rows.
pub(crate) fn looked_up(planned: &PlannedLookup, batch: &RecordBatch) -> Result<Stepped, RunError> {
    let Found {
        columns,
        unmatched,
        rejected,
    } = planned.lookup.find(batch)?;
    let mut count = StepCount {
        rows_in: batch.num_rows() as u64,
        unmatched: unmatched.len() as u64,
        ..StepCount::default()
    };
    let added_bytes = columns.iter().map(|it| it.get_buffer_memory_size()).sum();
    let all = outcome::with_columns(batch, &planned.spec.take, columns).map_err(arrow_error)?;
    let keys = unmatched
        .iter()
        .map(|row| planned.lookup.key_text(batch, *row));
    let keys: Vec<String> = keys.collect();
    let mut faults = Vec::new();
    let mut kept = None;
    if !rejected.is_empty() {
        let mut is_kept = vec![true; batch.num_rows()];
        for (row, reason) in rejected {
            is_kept[row] = false;
            faults.push(unmatched_fault(planned, batch, row, reason));
        }
        kept = Some(BooleanArray::new(BooleanBuffer::from(is_kept), None));
    }
    count.rejected = faults.len() as u64;
    Ok(Stepped {
        batch: match &kept {
            None => all,
            Some(kept) => filter_record_batch(&all, kept).map_err(arrow_error)?,
        },
        origins: kept.as_ref().map(outcome::origins_of),
        fan_out: 1,
        faults,
        counts: vec![count],
        unmatched_keys: keys.into_iter().map(|key| (0, key)).collect(),
        added_bytes,
    })
}

fn unmatched_fault(
    planned: &PlannedLookup,
    batch: &RecordBatch,
    row: usize,
    reason: Option<String>,
) -> RowFault {
    let key = planned.lookup.key_text(batch, row);
    let name = &planned.spec.name;
    let is_null = planned.lookup.has_null(batch, row);
    RowFault {
        row,
        step: 0,
        column: match planned.named.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        },
        reason: match (is_null, reason) {
            (true, _) => {
                format!("the key of the lookup in {name} is NULL, which is equal to nothing: {key}")
            }
            (false, None) => format!("{name} has no row with the key {key}"),
            (false, Some(reason)) => {
                format!("{name} has no row with the key {key}, and {reason}")
            }
        },
        value: match planned.named.as_slice() {
            [_] => planned.lookup.only_value(batch, row),
            _ => Some(key),
        },
        kind: FaultKind::Unmatched,
    }
}
