//! Turns columns into rows: each row becomes one row for each column of a group, with the name of the column and its
//! value.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, NullArray, RecordBatch, StringViewArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use inrush_rows::column_type::ColumnType;

use crate::error::{StepError, StepErrorKind};
use crate::outcome::{StepCount, Stepped, with_columns};
use crate::plan::is_reserved;
use crate::spec::{InputColumn, column_at};
use crate::types::{sql_name, type_that_holds};

/// The most rows that the steps of a flow make of a record. A row is identified by the place of its record multiplied
/// by this number, and the product must fit 64 bits.
pub const FAN_OUT_MAX: u64 = 1 << 16;

/// The most columns of a step that are named one by one.
const NAMED_MAX: usize = 8;

/// A step that turns columns into rows, as it is declared.
#[derive(Clone, Debug)]
pub struct UnpivotSpec {
    /// The columns, each of which becomes a row.
    pub columns: Vec<String>,
    /// The name of the new column whose values are the names of `columns`.
    pub name: String,
    /// The name of the new column whose values are the values of `columns`.
    pub value: String,
}

/// A step that turns columns into rows, and can run.
#[derive(Clone, Debug)]
pub struct PlannedUnpivot {
    /// Its declaration.
    pub spec: UnpivotSpec,
    /// The indexes of the columns in the batches.
    columns: Vec<usize>,
    /// The type of all values.
    value_type: ColumnType,
    /// The names of the columns.
    names: ArrayRef,
    /// The indexes of the columns that no later step uses.
    unused: Vec<usize>,
}

impl PlannedUnpivot {
    /// Plans a step that sees these columns. `step` is its number, counted from 1; `fan_out` the most rows that earlier
    /// steps make of a record.
    pub fn plan(
        spec: &UnpivotSpec,
        visible: &[InputColumn],
        step: usize,
        fan_out: u64,
    ) -> Result<PlannedUnpivot, Vec<StepError>> {
        let mut faults = Vec::new();
        let mut fault = |setting: &str, text: &str, kind: StepErrorKind| {
            faults.push(StepError {
                step,
                setting: format!("unpivot.{setting}"),
                expression: text.to_owned(),
                range: None,
                kind,
            });
        };
        let mut columns = Vec::with_capacity(spec.columns.len());
        for (index, name) in spec.columns.iter().enumerate() {
            match column_at(name, visible) {
                Ok(at) if columns.contains(&at) => {
                    let name = name.clone();
                    fault(
                        &format!("columns[{index}]"),
                        &name,
                        StepErrorKind::NamedTwice { name: name.clone() },
                    );
                }
                Ok(at) => columns.push(at),
                Err(kind) => fault(&format!("columns[{index}]"), name, kind),
            }
        }
        let found = columns.iter().map(|at| &visible[*at]);
        let value_type = match common_type(found) {
            Ok(value_type) => value_type,
            Err(kind) => {
                fault("columns", "", kind);
                ColumnType::Bool
            }
        };
        let rows = fan_out.saturating_mul(spec.columns.len() as u64);
        if rows > FAN_OUT_MAX {
            fault("columns", "", StepErrorKind::UnpivotRows { rows });
        }
        for (setting, name) in [("name", &spec.name), ("value", &spec.value)] {
            let is_there = |other: &InputColumn| other.name.eq_ignore_ascii_case(name);
            let name = name.clone();
            if is_reserved(&name) {
                fault(setting, &spec.name, StepErrorKind::Name { name });
            } else if visible.iter().any(is_there) {
                fault(setting, &spec.name, StepErrorKind::HidesColumn { name });
            }
        }
        let names: Vec<String> = columns.iter().map(|at| visible[*at].name.clone()).collect();
        match faults.is_empty() {
            true => Ok(PlannedUnpivot {
                names: Arc::new(StringViewArray::from_iter_values(&names)),
                spec: UnpivotSpec {
                    columns: names,
                    ..spec.clone()
                },
                columns,
                value_type,
                unused: Vec::new(),
            }),
            false => Err(faults),
        }
    }

    /// The two columns that it adds.
    pub fn added(&self) -> [InputColumn; 2] {
        self.spec.added(&self.value_type)
    }

    /// Its columns, in a few words.
    pub fn what(&self) -> String {
        let names = &self.spec.columns;
        match names.len().saturating_sub(NAMED_MAX) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names[..NAMED_MAX].join(", ")),
        }
    }

    /// The number of rows that each row becomes.
    pub fn fan_out(&self) -> u64 {
        self.columns.len() as u64
    }

    /// The indexes of the columns that have no values after the step, because no later step uses them.
    pub fn unused(&self) -> &[usize] {
        &self.unused
    }

    /// Notes which of its columns later steps use. If the values of all columns were repeated, the cost would grow with
    /// the square of the number of columns.
    pub(crate) fn note_used(&mut self, used: &BTreeSet<&str>) {
        let columns = self.columns.iter().zip(&self.spec.columns);
        let unused = columns.filter(|(_, name)| !used.contains(name.as_str()));
        self.unused = unused.map(|(at, _)| *at).collect();
    }
}

/// The columns that became rows, to name the column of a row.
#[derive(Clone, Debug, Default)]
pub struct Groups(Vec<Vec<String>>);

impl Groups {
    /// Adds a step that makes several rows of each of the rows so far.
    pub(crate) fn add(&mut self, unpivot: &PlannedUnpivot) {
        self.0.push(unpivot.spec.columns.clone());
    }

    /// Adds the name of the row's column to the reason of a reject. `part` is the index of the row among the rows of
    /// its record.
    pub fn say(&self, reason: &mut String, mut part: u64) {
        let mut names = Vec::with_capacity(self.0.len());
        for group in self.0.iter().rev() {
            let count = group.len() as u64;
            names.push(format!("`{}`", group[(part % count) as usize]));
            part /= count;
        }
        names.reverse();
        if !names.is_empty() {
            reason.push_str(&format!(" (the row of {})", names.join(", ")));
        }
    }
}

impl UnpivotSpec {
    /// The two columns that it adds, if the values have this type.
    pub(crate) fn added(&self, value_type: &ColumnType) -> [InputColumn; 2] {
        let text = ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        };
        let column = |name: &String, column_type| InputColumn {
            name: name.clone(),
            column_type,
        };
        [
            column(&self.name, text),
            column(&self.value, value_type.clone()),
        ]
    }
}

/// The type of the values of all columns. Texts of different lengths are texts of any length.
fn common_type<'a>(
    columns: impl Iterator<Item = &'a InputColumn>,
) -> Result<ColumnType, StepErrorKind> {
    let columns: Vec<&InputColumn> = columns.collect();
    let Some((first, others)) = columns.split_first() else {
        return Ok(ColumnType::Bool);
    };
    let is_text = |column_type: &ColumnType| matches!(column_type, ColumnType::Text { .. });
    let mut common = first.column_type.clone();
    for column in others {
        if column.column_type == common {
            continue;
        }
        if !is_text(&common) || !is_text(&column.column_type) {
            let types = columns.iter().map(|column| &column.column_type);
            return Err(StepErrorKind::UnpivotTypes {
                column: column.name.clone(),
                column_type: sql_name(&column.column_type),
                first: first.name.clone(),
                first_type: sql_name(&first.column_type),
                holds_all: type_that_holds(types),
            });
        }
        common = ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        };
    }
    Ok(common)
}

/// Makes the rows. The other columns of a row have the same values in each row that is made of it.
pub(crate) fn unpivoted(
    planned: &PlannedUnpivot,
    batch: &RecordBatch,
) -> Result<Stepped, ArrowError> {
    let (rows, count) = (batch.num_rows(), planned.columns.len());
    let each = (0..rows).flat_map(|row| (0..count).map(move |column| (column, row)));
    let rows_of: UInt32Array = each.clone().map(|(_, row)| Some(row as u32)).collect();
    let names_of: UInt32Array = each
        .clone()
        .map(|(column, _)| Some(column as u32))
        .collect();
    let values = planned.columns.iter();
    let values: Vec<&dyn Array> = values.map(|at| batch.column(*at).as_ref()).collect();
    let value = interleave(&values, &each.collect::<Vec<_>>())?;
    let name = take(&planned.names, &names_of, None)?;
    let repeated = repeated(planned, batch, &rows_of)?;
    let batch = with_columns(&repeated, &planned.added(), vec![name, value])?;
    let all = batch.columns().iter();
    let added_bytes = all.map(|it| it.get_buffer_memory_size()).sum();
    Ok(Stepped {
        batch,
        origins: Some((0..(rows * count) as u64).collect()),
        fan_out: count as u64,
        faults: Vec::new(),
        counts: vec![StepCount {
            rows_in: rows as u64,
            added: (rows * (count - 1)) as u64,
            ..StepCount::default()
        }],
        unmatched_keys: Vec::new(),
        added_bytes,
    })
}

/// The rows `rows_of` of a batch. Columns that are not used any more have no values.
fn repeated(
    planned: &PlannedUnpivot,
    batch: &RecordBatch,
    rows_of: &UInt32Array,
) -> Result<RecordBatch, ArrowError> {
    let mut is_unused = vec![false; batch.num_columns()];
    for at in &planned.unused {
        is_unused[*at] = true;
    }
    let schema = batch.schema();
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut values: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
    for (at, is_unused) in is_unused.into_iter().enumerate() {
        let field = &schema.fields()[at];
        if is_unused {
            fields.push(Arc::new(Field::new(field.name(), DataType::Null, true)));
            values.push(Arc::new(NullArray::new(rows_of.len())));
        } else {
            fields.push(Arc::clone(field));
            values.push(take(batch.column(at), rows_of, None)?);
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), values)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, RecordBatchOptions};
    use arrow_select::filter::filter_record_batch;

    use super::*;

    fn int(name: &str) -> InputColumn {
        InputColumn {
            name: name.to_owned(),
            column_type: ColumnType::Int32,
        }
    }

    fn spec(columns: &[&str], name: &str, value: &str) -> UnpivotSpec {
        UnpivotSpec {
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    /// Rows with the columns `id`, `a` and `b`.
    fn batch(rows: &[(i32, Option<i32>, Option<i32>)]) -> (Vec<InputColumn>, RecordBatch) {
        let columns = vec![int("id"), int("a"), int("b")];
        let values: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>()),
            Arc::new(rows.iter().map(|row| row.2).collect::<Int32Array>()),
        ];
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let empty =
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
        let batch = with_columns(&empty.expect("no columns"), &columns, values);
        (columns, batch.expect("three columns"))
    }

    fn planned(spec: &UnpivotSpec, columns: &[InputColumn]) -> PlannedUnpivot {
        PlannedUnpivot::plan(spec, columns, 1, 1).expect("columns of one type")
    }

    #[test]
    fn each_column_becomes_a_row_in_the_order_of_the_package() {
        let (columns, rows) = batch(&[(7, Some(1), None), (8, Some(3), Some(4))]);
        let mut planned = planned(&spec(&["b", "a"], "from", "is"), &columns);
        planned.note_used(&BTreeSet::from(["a"]));
        let made = unpivoted(&planned, &rows).expect("rows");
        let of = |at: usize| made.batch.column(at).as_primitive::<Int32Type>().iter();
        let ids: Vec<_> = of(0).flatten().collect();
        assert_eq!(ids, [7, 7, 8, 8]);
        assert_eq!(of(1).flatten().collect::<Vec<_>>(), [1, 1, 3, 3]);
        assert_eq!(made.batch.column(2).data_type(), &DataType::Null);
        let names: Vec<_> = made
            .batch
            .column(3)
            .as_string_view()
            .iter()
            .flatten()
            .collect();
        assert_eq!(names, ["b", "a", "b", "a"]);
        assert_eq!(of(4).collect::<Vec<_>>(), [None, Some(1), Some(4), Some(3)]);
        assert_eq!(made.origins, Some(vec![0, 1, 2, 3]));
        let count = made.counts[0];
        assert_eq!((count.rows_in, count.added, count.rows_out()), (2, 2, 4));
        let origins = (0..4).map(|row| made.origin(row)).collect::<Vec<_>>();
        assert_eq!(origins, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    /// Later steps filter such rows, and a second step may make rows of them.
    #[test]
    fn columns_without_values_pass_later_steps() {
        let (mut columns, rows) = batch(&[(7, Some(1), None), (8, Some(3), Some(4))]);
        let mut first = planned(&spec(&["a", "b"], "from", "is"), &columns);
        first.note_used(&BTreeSet::new());
        let made = unpivoted(&first, &rows).expect("rows").batch;
        columns.extend(first.added());
        let kept = filter_record_batch(&made, &vec![true, false, false, true].into());
        let kept = kept.expect("a filter takes columns without values");
        let second = planned(&spec(&["id", "is"], "what", "how_many"), &columns);
        let made = unpivoted(&second, &kept).expect("rows").batch;
        let values = made
            .column(made.num_columns() - 1)
            .as_primitive::<Int32Type>();
        assert_eq!(values.values(), &[7, 1, 8, 4]);
    }

    #[test]
    fn no_rows_become_none() {
        let (columns, rows) = batch(&[]);
        let made = unpivoted(&planned(&spec(&["a", "b"], "x", "y"), &columns), &rows);
        let made = made.expect("no rows");
        assert_eq!((made.batch.num_rows(), made.batch.num_columns()), (0, 5));
        assert_eq!(made.fan_out, 2);
    }

    #[test]
    fn the_row_of_a_record_is_named() {
        let columns: Vec<InputColumn> = ["a", "b", "c", "d", "e"].map(int).into();
        let mut groups = Groups::default();
        let said = |groups: &Groups, part| {
            let mut reason = "wrong".to_owned();
            groups.say(&mut reason, part);
            reason
        };
        assert_eq!(said(&groups, 0), "wrong");
        groups.add(&planned(&spec(&["a", "b"], "x", "y"), &columns));
        assert_eq!(said(&groups, 1), "wrong (the row of `b`)");
        groups.add(&planned(&spec(&["c", "d", "e"], "x", "y"), &columns));
        assert_eq!(said(&groups, 0), "wrong (the row of `a`, `c`)");
        assert_eq!(said(&groups, 5), "wrong (the row of `b`, `e`)");
        assert_eq!(said(&groups, 3), "wrong (the row of `b`, `c`)");
    }

    #[test]
    fn texts_of_different_lengths_have_one_type_and_numbers_do_not() {
        let text = |name: &str, characters_max| InputColumn {
            name: name.to_owned(),
            column_type: ColumnType::Text {
                characters_max,
                blank_padded: false,
            },
        };
        let columns = [text("a", Some(3)), text("b", None), int("c")];
        let own = planned(&spec(&["a", "b"], "x", "y"), &columns);
        assert_eq!(own.added()[1].column_type, text("b", None).column_type);
        let faults = PlannedUnpivot::plan(&spec(&["b", "c"], "x", "y"), &columns, 1, 1);
        let kinds = faults
            .expect_err("two types")
            .into_iter()
            .map(|fault| fault.kind);
        assert!(matches!(
            kinds.collect::<Vec<_>>()[..],
            [StepErrorKind::UnpivotTypes { .. }]
        ));
    }

    #[test]
    fn only_a_few_columns_are_named() {
        let names: Vec<String> = (0..11).map(|at| format!("c{at}")).collect();
        let columns: Vec<InputColumn> = names.iter().map(|name| int(name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let what = |count: usize| planned(&spec(&names[..count], "x", "y"), &columns).what();
        assert_eq!(what(2), "c0, c1");
        assert_eq!(what(8), "c0, c1, c2, c3, c4, c5, c6, c7");
        assert_eq!(what(11), "c0, c1, c2, c3, c4, c5, c6, c7 and 3 more");
    }

    #[test]
    fn a_record_that_would_become_too_many_rows_is_refused() {
        let columns: Vec<InputColumn> = ["a", "b"].map(int).into();
        let plan =
            |fan_out| PlannedUnpivot::plan(&spec(&["a", "b"], "x", "y"), &columns, 1, fan_out);
        assert!(plan(FAN_OUT_MAX / 2).is_ok());
        let faults = plan(FAN_OUT_MAX / 2 + 1).expect_err("too many rows");
        assert_eq!(
            faults[0].kind,
            StepErrorKind::UnpivotRows {
                rows: FAN_OUT_MAX + 2
            }
        );
    }
}
