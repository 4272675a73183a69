//! Takes the tables that the new rows replace out of a target, inside the switch's transaction
//! and under its lock of the target.

use inrush_package::ReplaceScope;
use inrush_rows::ids::UnitKey;

use super::error::SwitchError;
use super::search_path;
use crate::catalog::{self, TableFacts};
use crate::ledger::{Ledger, Original, SwitchedTable, What};
use crate::old_tables::{self, OldTable};
use crate::plan::switch_statements::UnitTask;
use crate::plan::take_out_steps::{self, TakeOutStep};
use crate::plan::{FlowPlan, Publish, ReplacePlan, replace_mode};
use crate::quote::{identifier, qualified};
use crate::ranges::PartitionRange;
use crate::{Session, table_swap};

/// The tables that were taken out.
#[derive(Debug, Default)]
pub struct TakenOut {
    /// The tables, for the ledger.
    pub tables: Vec<SwitchedTable>,
    /// A default partition that an empty one must replace.
    pub default: Option<OldTable>,
}

/// Takes out the tables or rows that the new rows replace.
pub async fn take_out(
    session: &Session,
    ledger: &Ledger,
    flow: &FlowPlan,
    replace: &ReplacePlan,
    units: &[UnitTask],
    staging_schema: &str,
) -> Result<TakenOut, SwitchError> {
    let mut taken_out = TakenOut::default();
    for step in take_out_steps::of(replace) {
        match step {
            TakeOutStep::DeleteRows => {
                let deleted = delete_rows(session, flow).await?;
                taken_out.tables.extend(deleted);
            }
            TakeOutStep::DropLastKept => {
                drop_last_kept(session, ledger, &flow.target(), replace).await?;
            }
            TakeOutStep::TakeOutTables => {
                for old in replaced(session, flow, replace, units).await? {
                    table(session, flow, replace, old, staging_schema, &mut taken_out).await?;
                }
            }
        }
    }
    Ok(taken_out)
}

/// Takes one table out.
async fn table(
    session: &Session,
    flow: &FlowPlan,
    replace: &ReplacePlan,
    old: OldTable,
    staging_schema: &str,
    taken_out: &mut TakenOut,
) -> Result<(), SwitchError> {
    let target = flow.target();
    let doing = format!("removing the old rows of {target}");
    if old.is_default() {
        if !catalog::has_rows(session, &old.qualified(), &doing).await? {
            // An empty default partition can stay.
            return Ok(());
        }
        taken_out.default = Some(old.clone());
    }
    let kept_name = replace.kept_name(&target, &old);
    if let Some(name) = &kept_name {
        refuse_taken(session, staging_schema, name).await?;
    }
    for statement in take_out_steps::of_table(&target, &old, kept_name.as_deref(), staging_schema) {
        session.execute(&statement, &doing).await?;
    }
    taken_out.tables.push(SwitchedTable {
        target,
        what: match kept_name {
            Some(_) => What::Kept,
            None => What::Dropped,
        },
        unit_key: None,
        table_oid: old.oid,
        table_schema: staging_schema.to_owned(),
        table_name: kept_name.unwrap_or_else(|| old.name.clone()),
        bound: old.bound,
        condition: old.condition,
        original: Some(Original {
            schema: old.schema,
            name: old.name,
            indexes: old.indexes,
        }),
    });
    Ok(())
}

/// Creates an empty default partition in place of one that was taken out with its rows.
pub async fn remake_default(
    session: &Session,
    flow: &FlowPlan,
    old: &OldTable,
) -> Result<SwitchedTable, SwitchError> {
    let doing = format!("making an empty default partition of {}", flow.target());
    let name = old.qualified();
    let create = format!("CREATE TABLE {name} PARTITION OF {} DEFAULT", flow.target());
    session.execute(&create, &doing).await?;
    if let Some(facts) = &flow.facts {
        let owner = format!("ALTER TABLE {name} OWNER TO {}", identifier(&facts.owner));
        session.execute(&owner, &doing).await?;
    }
    attached(session, flow, &old.schema, &old.name, None).await
}

/// A partition of the target, for the ledger.
pub async fn attached(
    session: &Session,
    flow: &FlowPlan,
    schema: &str,
    name: &str,
    unit_key: Option<&UnitKey>,
) -> Result<SwitchedTable, SwitchError> {
    let new = old_tables::by_name(session, schema, name).await?;
    let new = new.ok_or_else(|| SwitchError::Changed {
        target: flow.target(),
        what: format!("{} is gone", qualified(schema, name)),
    })?;
    Ok(SwitchedTable {
        target: flow.target(),
        what: What::Attached,
        unit_key: unit_key.cloned(),
        table_oid: new.oid,
        table_schema: schema.to_owned(),
        table_name: name.to_owned(),
        bound: new.bound,
        condition: None,
        original: None,
    })
}

/// The partitions to take out, read under the lock: other sessions may have changed them since the plan.
async fn replaced(
    session: &Session,
    flow: &FlowPlan,
    replace: &ReplacePlan,
    units: &[UnitTask],
) -> Result<Vec<OldTable>, SwitchError> {
    let Some(facts) = catalog::target(session, &flow.schema, &flow.table).await? else {
        return Ok(Vec::new());
    };
    if let (Publish::Swap, Some(planned)) = (&flow.publish, &flow.facts) {
        refuse_changed(session, flow, planned, &facts).await?;
        let old = old_tables::by_oid(session, facts.oid).await?;
        return Ok(old.into_iter().collect());
    }
    let partitions = old_tables::partitions(session, facts.oid).await?;
    match (replace.scope, &flow.key) {
        (ReplaceScope::Partitions, Some(key)) => {
            let asked = ranges_of(units);
            replace_mode::covered(session, key, &asked, partitions)
                .await?
                .map_err(|partly| SwitchError::Partly {
                    target: flow.target(),
                    what: partly.what(),
                    mend: partly.hint(),
                })
        }
        _ => Ok(partitions),
    }
}

/// Refuses a swap if the table has new objects since the plan that would be lost.
async fn refuse_changed(
    session: &Session,
    flow: &FlowPlan,
    planned: &TableFacts,
    now: &TableFacts,
) -> Result<(), SwitchError> {
    let changed = |what: String| SwitchError::Changed {
        target: flow.target(),
        what,
    };
    if now.oid != planned.oid {
        return Err(changed("it is another table".to_owned()));
    }
    if now.structure != planned.structure || now.indexes != planned.indexes {
        return Err(changed("its columns, constraints or indexes".to_owned()));
    }
    if let Some(obstacle) = table_swap::obstacles(session, now.oid).await?.first() {
        return Err(changed(format!("it has {obstacle}")));
    }
    Ok(())
}

/// Deletes all rows of a plain target, which is kept.
async fn delete_rows(
    session: &Session,
    flow: &FlowPlan,
) -> Result<Option<SwitchedTable>, SwitchError> {
    let target = flow.target();
    let doing = format!("deleting the old rows of {target}");
    search_path::of_users(session, &doing).await?;
    session
        .execute(&take_out_steps::delete_rows(&target), &doing)
        .await?;
    search_path::our_own(session, &doing).await?;
    if catalog::has_rows(session, &target, &doing).await? {
        return Err(SwitchError::NotDeleted { target });
    }
    Ok(flow.facts.as_ref().map(|facts| SwitchedTable {
        target,
        what: What::Dropped,
        unit_key: None,
        table_oid: facts.oid,
        table_schema: flow.schema.clone(),
        table_name: flow.table.clone(),
        bound: None,
        condition: None,
        original: None,
    }))
}

/// Gives the indexes of a new table the names of the indexes of the table that it replaces. Revokes the grants that the
/// new table has from default privileges. Both tables have their indexes in the same order.
pub async fn name_indexes(
    session: &Session,
    flow: &FlowPlan,
    staging_schema: &str,
    unit: &UnitTask,
) -> Result<(), SwitchError> {
    let doing = format!("making the new {} like the old one", flow.target());
    let new = old_tables::by_name(session, staging_schema, &unit.staging_table).await?;
    let (Some(new), Some(facts)) = (new, &flow.facts) else {
        return Ok(());
    };
    let names: Vec<String> = facts
        .indexes
        .iter()
        .map(|index| index.name.clone())
        .collect();
    let mut statements = table_swap::undress(session, staging_schema, &unit.staging_table).await?;
    // The indexes get these names while they are in the staging schema. There, the indexes of a kept table have other
    // names.
    statements.extend(old_tables::relocate(
        &new,
        staging_schema,
        &unit.staging_table,
        &names,
    ));
    for statement in statements {
        session.execute(&statement, &doing).await?;
    }
    Ok(())
}

/// The ranges of the units that become partitions.
pub fn ranges_of(units: &[UnitTask]) -> Vec<PartitionRange> {
    units
        .iter()
        .filter(|unit| unit.attached)
        .map(|unit| PartitionRange {
            label: format!(
                "{} to {}",
                unit.lower.as_deref().unwrap_or("MINVALUE"),
                unit.upper.as_deref().unwrap_or("MAXVALUE")
            ),
            lower: unit.lower.clone(),
            upper: unit.upper.clone(),
        })
        .collect()
}

/// Drops the tables that the last replacement kept.
async fn drop_last_kept(
    session: &Session,
    ledger: &Ledger,
    target: &str,
    replace: &ReplacePlan,
) -> Result<(), SwitchError> {
    let kept = ledger.kept_of_target(session, target).await?;
    for old in replace_mode::last_generation(session, target, replace, &kept).await? {
        let sql = format!("DROP TABLE {}", old.qualified());
        session
            .execute(&sql, "dropping the tables that the last replacement kept")
            .await?;
    }
    Ok(())
}

async fn refuse_taken(session: &Session, schema: &str, name: &str) -> Result<(), SwitchError> {
    let names = [name.to_owned()];
    let taken = catalog::relation_names(session, schema, Some(&names)).await?;
    match taken.first() {
        None => Ok(()),
        Some(_) => Err(SwitchError::KeptNameTaken {
            table: qualified(schema, name),
        }),
    }
}
