//! The tasks of the switch: the bounds of each unit, checked for overlaps.

use inrush_destination::{AddedMembers, MergedRows};
use inrush_package::ReplaceScope;

use super::error::SwitchError;
use super::take_out::ranges_of;
use crate::plan::switch_statements::{UnitTask, declared, expression};
use crate::plan::{FlowPlan, KeyKind, KeyPlan, replace_mode};
use crate::{Session, catalog, old_tables, ranges};

/// A unit as it was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedUnit {
    /// Index in the flow's units.
    pub unit: usize,
    /// The server's own count of its rows.
    pub rows_counted: u64,
    /// Its smallest key as text.
    pub key_smallest: Option<String>,
    /// Its largest key as text.
    pub key_largest: Option<String>,
}

/// The work of the switch at one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetTask {
    /// Index of the flow in the plan.
    pub flow: usize,
    /// Its units, in the order of their keys.
    pub units: Vec<UnitTask>,
    /// Rows of all its units.
    pub rows: u64,
    /// The rows that were merged by their key, by what they did in the target. They are set after the merge.
    pub merged: Option<MergedRows>,
    /// The names of the partitions that the target got, on all levels. They are set once the target has the partitions.
    pub new_partitions: Vec<String>,
    /// The members that were added to references. They are set once the members are added.
    pub members: Vec<AddedMembers>,
}

/// Determines the bounds of a flow's units, and refuses units whose keys overlap each other or an existing partition.
pub async fn tasks(
    session: &Session,
    flow_index: usize,
    flow: &FlowPlan,
    loaded: &[LoadedUnit],
) -> Result<TargetTask, SwitchError> {
    let rows = loaded.iter().map(|unit| unit.rows_counted).sum();
    let task = |unit: &LoadedUnit| UnitTask::of(flow.unit(unit.unit));
    let Some(key) = &flow.key else {
        let units = loaded.iter().map(task).collect();
        return Ok(TargetTask {
            flow: flow_index,
            units,
            rows,
            merged: None,
            new_partitions: Vec::new(),
            members: Vec::new(),
        });
    };
    let mut units = Vec::new();
    let mut open = Vec::new();
    for unit in loaded {
        match &flow.statements[unit.unit].bounds {
            Some(bounds) => units.push(task(unit).attached(declared(bounds))),
            None if unit.rows_counted == 0 => units.push(task(unit)),
            None => open.push(unit),
        }
    }
    for (unit, lower, upper) in from_data(session, flow, key, &open).await? {
        units.push(task(unit).attached((Some(lower), upper)));
    }
    refuse_existing(session, flow, key, &units).await?;
    Ok(TargetTask {
        flow: flow_index,
        units,
        rows,
        merged: None,
        new_partitions: Vec::new(),
        members: Vec::new(),
    })
}

/// Bounds from each unit's smallest key to just above its largest.
async fn from_data<'a>(
    session: &Session,
    flow: &FlowPlan,
    key: &KeyPlan,
    open: &[&'a LoadedUnit],
) -> Result<Vec<(&'a LoadedUnit, String, Option<String>)>, SwitchError> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let comparable = key.comparable_type();
    // A part extends to just above its largest key, but not beyond the beginning of the next part.
    let sql = format!(
        "WITH part AS ( \
           SELECT number, smallest::{comparable} AS smallest, largest::{comparable} AS largest \
           FROM unnest($1::int8[], $2::text[], $3::text[]) u (number, smallest, largest) \
         ), ordered AS ( \
           SELECT *, lead(smallest) OVER w AS next, lead(number) OVER w AS next_number, \
                  lead(largest) OVER w AS next_largest, {} AS successor \
           FROM part WINDOW w AS (ORDER BY smallest, number) \
         ) \
         SELECT number, smallest::text, largest::text, \
                (CASE WHEN next < successor OR successor IS NULL THEN next \
                      ELSE successor END)::text, \
                next_number, next::text, next_largest::text, coalesce(next <= largest, false) \
         FROM ordered ORDER BY smallest, number",
        successor(key)
    );
    let numbers: Vec<i64> = (0..open.len() as i64).collect();
    let smallest: Vec<&Option<String>> = open.iter().map(|unit| &unit.key_smallest).collect();
    let largest: Vec<&Option<String>> = open.iter().map(|unit| &unit.key_largest).collect();
    let rows = session
        .query(
            &sql,
            &[&numbers, &smallest, &largest],
            "working out the partitions' bounds",
        )
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let unit = open[row.get::<_, i64>(0) as usize];
        let text = |index: usize| row.get::<_, Option<String>>(index).unwrap_or_default();
        if row.get::<_, bool>(7) {
            let other = open[row.get::<_, i64>(4) as usize];
            return Err(SwitchError::Overlap {
                target: flow.target(),
                first: files(flow, unit),
                second: files(flow, other),
                overlap: format!("{} to {} and {} to {}", text(1), text(2), text(5), text(6)),
            });
        }
        let upper: Option<String> = row.get(3);
        found.push((unit, expression(&text(1)), upper.as_deref().map(expression)));
    }
    Ok(found)
}

/// SQL for the key right after `largest`; NULL if the type has no greater value.
fn successor(key: &KeyPlan) -> String {
    let comparable = key.comparable_type();
    match key.kind {
        KeyKind::Integer => {
            // The largest values of int2, int4 and int8; a value of a narrower type never equals the largest value of a
            // wider one.
            format!(
                "CASE WHEN largest::int8 = (CASE pg_column_size(largest) WHEN 2 THEN 32767 \
                 WHEN 4 THEN 2147483647 ELSE 9223372036854775807 END) THEN NULL \
                 ELSE (largest::int8 + 1)::{comparable} END"
            )
        }
        KeyKind::Date => between_infinities(
            &comparable,
            ["4714-11-24 BC", "5874897-12-31"],
            &format!("(largest + 1)::{comparable}"),
        ),
        KeyKind::Timestamp => between_infinities(
            &comparable,
            // Within a second of the largest value, the longest step cannot be added.
            ["4714-11-24 00:00:00 BC", "294276-12-31 23:59:59"],
            // Digits beyond the type's precision are rounded away.
            &format!(
                "(SELECT min(s) FROM (SELECT (largest + step)::{comparable} AS s \
                 FROM unnest('{{1us,10us,100us,1ms,10ms,100ms,1s}}'::interval[]) step) later \
                 WHERE s > largest)"
            ),
        ),
        KeyKind::Text { characters_max } => {
            let full = match characters_max {
                Some(count) => format!("char_length(largest) >= {count}"),
                None => "false".to_owned(),
            };
            // In a collation that ignores some characters, a longer text need not be greater.
            format!(
                "CASE WHEN {full} THEN NULL ELSE (SELECT CASE WHEN s > largest THEN s END \
                 FROM (SELECT (largest || chr(1))::{comparable} AS s) longer) END"
            )
        }
    }
}

/// The successor for a type with two infinities, to which nothing can be added. Finite values begin at `first`; from
/// `last` on, the successor is infinity.
fn between_infinities(comparable: &str, [first, last]: [&str; 2], next: &str) -> String {
    format!(
        "CASE WHEN largest = 'infinity' THEN NULL \
         WHEN largest >= '{last}' THEN 'infinity'::{comparable} \
         WHEN largest = '-infinity' THEN '{first}'::{comparable} \
         ELSE {next} END"
    )
}

fn files(flow: &FlowPlan, unit: &LoadedUnit) -> String {
    flow.units[unit.unit]
        .splits
        .iter()
        .map(|split| split.input.name().display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

async fn refuse_existing(
    session: &Session,
    flow: &FlowPlan,
    key: &KeyPlan,
    units: &[UnitTask],
) -> Result<(), SwitchError> {
    let asked = ranges_of(units);
    if let Some(replace) = &flow.replace {
        // Old tables that cannot be taken out are reported here, before any lock is taken.
        if let (ReplaceScope::Partitions, Some(facts)) = (replace.scope, &flow.facts) {
            let partitions = old_tables::partitions(session, facts.oid).await?;
            if let Err(partly) = replace_mode::covered(session, key, &asked, partitions).await? {
                return Err(SwitchError::Partly {
                    target: flow.target(),
                    what: partly.what(),
                    mend: partly.hint(),
                });
            }
        }
        return Ok(());
    }
    // Read again: another session may have added a partition while the load ran.
    let Some(facts) = catalog::target(session, &flow.schema, &flow.table).await? else {
        return Ok(());
    };
    let existing = ranges::existing(&facts);
    let found = ranges::overlap(session, &key.comparable_type(), &asked, &existing).await?;
    match found {
        None => Ok(()),
        Some((asked, existing)) => Err(SwitchError::Overlap {
            target: flow.target(),
            first: "the loaded files".to_owned(),
            second: format!("the partition {existing}"),
            overlap: asked,
        }),
    }
}
