//! The check of every file of the plan against the ledger, before the switch.
//!
//! There may be a hundred thousand files, so the ledger's rows are read for some files at a time: those whose keys
//! begin with the same digits. A destination of the contract has no such query: its records are checked as they come
//! (`ledger_checks.rs` of the engine's driver), by the same [`file_checks`].

use std::collections::HashSet;
use std::sync::Arc;

use inrush_destination::SplitRecord;
use inrush_engine::error::Error;
use inrush_engine::native::plan::identity;
use inrush_engine::native::run::file_checks;
use inrush_rows::ids::{FileKey, UnitKey};
use inrush_source::Input;

use super::context::Context;
use super::ledger_coverage;
use crate::Session;
use crate::ledger::SplitChoice;

/// About how many splits are read at a time.
const SPLITS_AT_A_TIME: u64 = 8192;

/// A file of a flow, true if it is fed, and the first byte of its key.
type PlannedFile<'a> = (&'a Arc<dyn Input>, bool, u8);

/// Checks all files: their text is the text that was loaded, all of it was loaded, and they have the promised numbers.
pub async fn check(
    context: &Context<'_>,
    control: &Session,
    split_count: u64,
) -> Result<(), Error> {
    let run = context.run;
    // Promises about all files together are compared with all of their splits.
    let has_promises = run
        .plan
        .flows
        .iter()
        .any(|flow| !flow.expect.promises.is_empty());
    let digits = match split_count / SPLITS_AT_A_TIME {
        0 => 0,
        _ if has_promises => 0,
        1..16 => 1,
        _ => 2,
    };
    let files: Vec<Vec<PlannedFile<'_>>> = run
        .plan
        .flows
        .iter()
        .map(|flow| {
            let files = ledger_coverage::files(flow).into_iter();
            let planned = files.map(|(file, is_fed)| {
                let key_start = match digits {
                    0 => 0,
                    _ => first_byte(&identity::file_key(&**file)),
                };
                (file, is_fed, key_start)
            });
            planned.collect()
        })
        .collect();
    let flows = run.plan.flows.iter();
    let keys_of_flows: Vec<HashSet<&UnitKey>> = flows
        .map(|flow| flow.units.iter().map(|unit| &unit.key).collect())
        .collect();
    for number in 0..16_u16.pow(digits) {
        let start = match digits {
            0 => String::new(),
            digits => format!("{number:0width$x}", width = digits as usize),
        };
        let choice = SplitChoice {
            file_key_start: &start,
            unit_key: None,
        };
        let ledger = &run.ledger;
        let splits = ledger.splits_of(control, run.fence.run_id, &choice).await?;
        for (flow_index, flow) in run.plan.flows.iter().enumerate() {
            let keys = &keys_of_flows[flow_index];
            let is_own = |split: &&SplitRecord| keys.contains(&split.unit_key);
            let own: Vec<&SplitRecord> = splits.iter().filter(is_own).collect();
            // The prefix has both digits of a byte, or only the first.
            let shift = 8 - 4 * digits;
            let is_meant = |file: &&PlannedFile<'_>| u16::from(file.2) >> shift == number;
            let meant = || files[flow_index].iter().filter(is_meant);
            let ends = || {
                meant().map(|(file, is_fed, _)| {
                    let end = run.file_end(flow_index, file, *is_fed);
                    (*file, end)
                })
            };
            file_checks::check(flow, ends, &own).await?;
            file_checks::check_promises(flow, &own)?;
        }
    }
    Ok(())
}

/// The byte that the first two digits of a key mean.
fn first_byte(key: &FileKey) -> u8 {
    let digits = key.as_str().get(..2).unwrap_or_default();
    u8::from_str_radix(digits, 16).unwrap_or_default()
}
