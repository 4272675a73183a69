//! Copies rows from staging into an existing target that may refuse some of them, because of its own rows, its triggers
//! or its foreign keys.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::{RefusedStagedRow, RowsInSource};
use inrush_plan::LoadUnit;
use inrush_plan::verify::{Tally, VerifyError};

use super::cause::{RefusalCause, RefusedTable, cause};
use super::definitions::Definitions;
use super::isolate::{Isolator, RefusedRow, RowRefusal, RowSink};
use super::package_keys::RefusedStaged;
use super::savepoint::Savepoint;
use super::staged_row_order::Order;
use crate::load::prepared::PostgresRun;
use crate::load_error::LoadError;
use crate::plan::FlowPlan;
use crate::quote::{literal, qualified};
use crate::switch::{CarefulRows, CopiedRows, RowStatements, SwitchError};
use crate::verify::Comparison;
use crate::{PostgresError, Session, row_numbers, verify};

/// Pages of a staging table whose rows one statement copies, as long as none is refused.
const PAGES_PER_WINDOW: i64 = 64;
/// The rows that one statement copies from a partitioned staging table, as long as none is refused.
const NUMBERS_PER_WINDOW: i64 = 8192;

/// Copies rows carefully for the flows that had a refused row.
pub struct SwitchRows<'a> {
    run: &'a PostgresRun,
    source: &'a mut dyn RowsInSource,
    flows: BTreeSet<usize>,
    /// The rows that were refused in the last attempts.
    refused: RefusedStaged,
}

impl<'a> SwitchRows<'a> {
    /// The rows of an attempt of the switch that copies these flows carefully.
    pub fn new(
        run: &'a PostgresRun,
        source: &'a mut dyn RowsInSource,
        flows: BTreeSet<usize>,
        refused: RefusedStaged,
    ) -> SwitchRows<'a> {
        SwitchRows {
            run,
            source,
            flows,
            refused,
        }
    }

    /// The rows that were refused in this attempt and those before it.
    pub fn into_refused(self) -> RefusedStaged {
        self.refused
    }

    async fn copy_rows(
        &mut self,
        session: &Session,
        flow_index: usize,
        staging_table: &str,
        statements: RowStatements<'_>,
    ) -> Result<CopiedRows, LoadError> {
        let run = self.run;
        let flow = &run.plan.flows[flow_index];
        let is_unit = |unit: &LoadUnit| unit.staging_table == staging_table;
        let unit_index = flow.units.iter().position(is_unit);
        let unit_index = unit_index.expect("the switch copies units of the plan");
        let unit = &flow.units[unit_index];
        let doing = format!("copying rows into {}", flow.target());
        let limit = self.source.begin(flow_index, unit_index).map_err(ended)?;
        let limit = limit.saturating_add(1);
        let schema = &run.plan.settings.staging_schema;
        let staging = qualified(schema, staging_table);
        let order = Order::of(flow);
        let copied = copy_windows(session, order, &staging, statements, &doing, limit).await?;
        let places = copied.refused.iter().map(|row| row.place.clone()).collect();
        self.refused.insert(staging_table.to_owned(), places);
        if copied.refused.is_empty() {
            return Ok(CopiedRows {
                copied: copied.rows,
                refused: Vec::new(),
            });
        }
        let refused = told(session, flow, &copied.refused).await?;
        let splits = run.ledger.splits(session, run.fence.run_id).await?;
        let rows = Arc::new(flow.comparison.of_rows(&flow.columns));
        let mut tally = Tally::new(&rows.alone()).expect("rows are summed up by their hashes");
        let mut see = |row: &RecordBatch| tally.add(row);
        let found = self.source.find(&refused, &splits, &mut see);
        let found = found.map_err(ended)?;
        let is_same = match found {
            None => false,
            Some(_) => are_same(session, &rows, &staging, order, &copied.refused, tally).await?,
        };
        let Some(found) = found.filter(|_| is_same) else {
            return Err(LoadError::Verify(VerifyError::RefusedRows {
                target: flow.target(),
                rows: refused.len() as u64,
                table: staging,
            }));
        };
        self.source.reject().map_err(ended)?;
        for (split_key, count) in found {
            run.ledger
                .reject_staged(session, &run.fence, &unit.key, &split_key, count)
                .await?;
        }
        Ok(CopiedRows {
            copied: copied.rows,
            refused: copied.refused.into_iter().map(|row| row.place).collect(),
        })
    }
}

/// The engine knows why it could not find or take rejects.
fn ended(_: inrush_destination::Error) -> LoadError {
    LoadError::Interrupted
}

impl CarefulRows for SwitchRows<'_> {
    fn wants(&self, flow: usize) -> bool {
        self.flows.contains(&flow)
    }

    async fn copy(
        &mut self,
        session: &Session,
        flow: usize,
        staging_table: &str,
        statements: RowStatements<'_>,
    ) -> Result<CopiedRows, SwitchError> {
        let copied = self
            .copy_rows(session, flow, staging_table, statements)
            .await;
        copied.map_err(|error| match error {
            // For example, a lock was not granted: the switch tries again.
            LoadError::Server(error) => SwitchError::Destination(error),
            LoadError::Ledger(error) => SwitchError::Ledger(error),
            error => SwitchError::Careful(Box::new(error)),
        })
    }
}

/// True if the rows found in the files are the refused rows of the staging table: both sides hash them. A bad row is
/// never identified by its position alone.
async fn are_same(
    session: &Session,
    rows: &Arc<Comparison>,
    staging: &str,
    order: Order,
    refused: &[RefusedPlace],
    mut tally: Tally,
) -> Result<bool, PostgresError> {
    let doing = "comparing refused rows with the files";
    let (test, expected) = verify::self_test(rows.is_utf8);
    let tested: i64 = session.query(&test, &[], doing).await?[0].get(0);
    if tested != expected {
        // A server on another kind of machine computes other hashes.
        return Ok(true);
    }
    let places: Vec<String> = refused.iter().map(|row| row.place.clone()).collect();
    let chosen = order.any_of(&places);
    let table = match order {
        Order::Places => format!("(SELECT * FROM ONLY {staging} WHERE {chosen}) refused"),
        Order::Numbers => format!("(SELECT * FROM {staging} WHERE {chosen}) refused"),
    };
    let statement = verify::compared(rows, &table).expect("rows are asked for by a query");
    let answer: Vec<String> = session.query(&statement, &[], doing).await?[0].get(0);
    let found = tally.take();
    let found = rows.alone().total(std::iter::once(Some(found.as_slice())));
    Ok(found.is_some_and(|found| rows.differences(&found, &answer).is_empty()))
}

/// The rows of a staging table in order, one window at a time.
struct Windows<'a> {
    session: &'a Session,
    order: Order,
    staging: &'a str,
    doing: &'a str,
    /// The next page, or the last number of the previous window.
    at: i64,
    /// The pages of the table.
    pages: i64,
}

impl<'a> Windows<'a> {
    async fn new(
        session: &'a Session,
        order: Order,
        staging: &'a str,
        doing: &'a str,
    ) -> Result<Windows<'a>, PostgresError> {
        let sql = format!(
            "SELECT pg_relation_size({}::regclass) / current_setting('block_size')::int8",
            literal(staging).trim_start()
        );
        let pages = session.query(&sql, &[], doing).await?[0].get(0);
        Ok(Windows {
            session,
            order,
            staging,
            doing,
            at: 0,
            pages,
        })
    }

    /// The positions or numbers of the rows in the next window.
    async fn next(&mut self) -> Result<Option<Vec<String>>, PostgresError> {
        let (at, staging) = (self.at, self.staging);
        let sql = match self.order {
            Order::Places if at >= self.pages => return Ok(None),
            Order::Places => format!(
                "SELECT ctid::text AS place FROM ONLY {staging} \
                 WHERE ctid >= '({at},0)'::tid AND ctid < '({},0)'::tid ORDER BY ctid",
                at + PAGES_PER_WINDOW
            ),
            Order::Numbers => format!(
                "SELECT {0}::text AS place FROM {staging} WHERE {0} > {at} ORDER BY {0} \
                 LIMIT {NUMBERS_PER_WINDOW}",
                row_numbers::column()
            ),
        };
        let rows = self.session.query(&sql, &[], self.doing).await?;
        let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        self.at = match (self.order, found.last()) {
            (Order::Places, _) => at + PAGES_PER_WINDOW,
            (Order::Numbers, None) => return Ok(None),
            (Order::Numbers, Some(last)) => last.parse().expect("the server writes an int8"),
        };
        Ok(Some(found))
    }
}

/// The result of copying a staging table window by window.
struct Copied {
    rows: u64,
    refused: Vec<RefusedPlace>,
}

/// A refused row of a staging table.
struct RefusedPlace {
    /// The number of rows before it in the whole staging table.
    number: u64,
    /// Its `ctid` or number.
    place: String,
    row: RefusedRow,
}

/// Copies a staging table window by window, in the order of its rows, until this many rows are refused.
async fn copy_windows(
    session: &Session,
    order: Order,
    staging: &str,
    statements: RowStatements<'_>,
    doing: &str,
    refused_max: u64,
) -> Result<Copied, LoadError> {
    let mut windows = Windows::new(session, order, staging, doing).await?;
    let mut copied = Copied {
        rows: 0,
        refused: Vec::new(),
    };
    // A range may have all rows of a window, as long as none is refused.
    let mut isolator = Isolator::new(usize::MAX / 4);
    let mut before = 0_u64;
    let mut savepoint = Savepoint::default();
    while let Some(places) = windows.next().await? {
        let mut window = Window {
            session,
            order,
            statements,
            doing,
            places: &places,
            savepoint: &mut savepoint,
        };
        let left = refused_max
            .saturating_sub(copied.refused.len() as u64)
            .max(1);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let (refused, end) = isolator.run(&mut window, 0..places.len(), left).await?;
        copied.rows += (end - refused.len()) as u64;
        copied
            .refused
            .extend(refused.into_iter().map(|row| RefusedPlace {
                number: order.rows_before(&places[row.row], before + row.row as u64),
                place: places[row.row].clone(),
                row,
            }));
        before += places.len() as u64;
        if end < places.len() {
            // The limit is reached; the caller reports the refusals so far.
            break;
        }
    }
    savepoint.release(session, doing).await?;
    Ok(copied)
}

/// The rows of some pages of a staging table.
struct Window<'a> {
    session: &'a Session,
    order: Order,
    statements: RowStatements<'a>,
    doing: &'a str,
    places: &'a [String],
    savepoint: &'a mut Savepoint,
}

impl RowSink for Window<'_> {
    type Error = LoadError;

    async fn load(&mut self, rows: Range<usize>) -> Result<Result<(), RowRefusal>, LoadError> {
        self.savepoint.set(self.session, self.doing).await?;
        let count = rows.len() as u64;
        let (first, last) = (&self.places[rows.start], &self.places[rows.end - 1]);
        let condition = self.order.between(first, last);
        let counted = self.statements.run_only(self.session, &condition).await;
        let error = match counted {
            Ok(counted) if counted == count => return Ok(Ok(())),
            Ok(counted) => {
                return Err(LoadError::Count {
                    what: self.doing.to_owned(),
                    counted,
                    sent: count,
                });
            }
            Err(error) => self.session.error(error, self.doing),
        };
        let Some(facts) = error.row_refusal() else {
            return Err(error.into());
        };
        let facts = Box::new(facts.clone());
        self.savepoint.undo(self.session, &[], self.doing).await?;
        Ok(Err(RowRefusal { row: None, facts }))
    }
}

/// Why each row was refused, with the target's name.
async fn told(
    session: &Session,
    flow: &FlowPlan,
    refused: &[RefusedPlace],
) -> Result<Vec<RefusedStagedRow>, PostgresError> {
    let columns: Vec<String> = flow
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let mut definitions = Definitions::default();
    let mut told = Vec::with_capacity(refused.len());
    for RefusedPlace { number, row, .. } in refused {
        let definition = match &row.facts.constraint {
            Some(name) => {
                let target = flow.target();
                let table = row.facts.table.as_deref().unwrap_or(&target);
                definitions.of(session, table, name).await?
            }
            None => None,
        };
        let place = RefusedTable {
            table: &flow.table,
            target: &flow.table,
            columns: &columns,
            definition: definition.as_deref(),
        };
        let RefusalCause {
            column,
            code,
            reason,
        } = cause(&row.facts, &place);
        told.push(RefusedStagedRow {
            number: *number,
            column,
            code,
            reason,
        });
    }
    Ok(told)
}
