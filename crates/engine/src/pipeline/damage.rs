//! Damages rows in transit on purpose, to test that the account, sums or row hashes find it. Each kind of damage is
//! found by one level of `verify` and by all stricter ones.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use inrush_fault::{self as fault, Fault, FaultPoint};

/// True if the fault asks for damage, so that rows must come in batches.
pub fn is_wished(fault: Option<&Fault>) -> bool {
    [
        FaultPoint::BatchLost,
        FaultPoint::RowDoubled,
        FaultPoint::ValuesExchanged,
    ]
    .into_iter()
    .any(|point| fault::is_for(fault, point))
}

/// The batches to send in place of this batch, if the fault asks for damage; otherwise `None`.
pub fn harmed(fault: Option<&Fault>, batch: &RecordBatch) -> Option<Vec<RecordBatch>> {
    if fault.is_none() || batch.num_rows() < 2 {
        return None;
    }
    let (first, second) = (batch.slice(0, 1), batch.slice(1, 1));
    let rest = batch.slice(2, batch.num_rows() - 2);
    if fault::wished(fault, FaultPoint::BatchLost) {
        return Some(Vec::new());
    }
    if fault::wished(fault, FaultPoint::RowDoubled) {
        return Some(vec![first.clone(), first, rest]);
    }
    if fault::wished(fault, FaultPoint::ValuesExchanged) {
        return Some(vec![
            with_first_column(&first, second.column(0)),
            with_first_column(&second, first.column(0)),
            rest,
        ]);
    }
    None
}

fn with_first_column(row: &RecordBatch, column: &ArrayRef) -> RecordBatch {
    let mut columns = row.columns().to_vec();
    columns[0] = Arc::clone(column);
    RecordBatch::try_new(row.schema(), columns).expect("the columns keep their types")
}
