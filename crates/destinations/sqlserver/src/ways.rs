//! The rows of a staging table get into their target in one of three ways: by a rename, by SWITCH, or by a copy. The way is
//! chosen before the transaction of the switch, because indexes and CHECKs of the target are made on the staging table first.

use inrush_destination::{Error, Result, WriteMode};

use crate::catalog;
use crate::columnstore;
use crate::connection::SqlSession;
use crate::options::Options;
use crate::partitions::Partitioning;
use crate::shape::TableShape;
use crate::sql;
use crate::staging::Staging;

/// How staged rows get into their target.
#[derive(Clone, Debug)]
pub enum Way {
    /// The target is new: the staging table gets its name.
    Rename,
    /// By SWITCH. The target has this shape, and the staging table has its indexes and CHECKs already.
    Switch(Box<TableShape>),
    /// By INSERT ... SELECT, with the reason if SWITCH would have been better and is not possible.
    Copy(Option<String>),
}

impl Way {
    /// True if the staging table has been made a columnstore.
    pub fn builds_columnstore(&self, options: &Options) -> bool {
        match self {
            Way::Rename => options.columnstore,
            Way::Switch(shape) => shape.columnstore().is_some(),
            Way::Copy(_) => false,
        }
    }
}

/// Finds the way for a target as it is now. `is_useful` says whether some rows could be switched.
pub fn find(
    session: &mut SqlSession,
    staging: &Staging,
    options: &Options,
    is_useful: impl FnOnce(&mut SqlSession, Option<&Partitioning>) -> Result<bool>,
) -> Result<Way> {
    let target = &staging.plan.name;
    let Some(found) = catalog::entry(session, &staging.schema, &target.name)? else {
        return Ok(Way::Rename);
    };
    // SWITCH cannot merge: merged rows are compared with the rows of the target.
    let is_merged = staging.plan.mode == WriteMode::Upsert;
    if found.kind != "table" || !options.switch || is_merged {
        return Ok(Way::Copy(None));
    }
    let shape = TableShape::read(session, &target.sql)?;
    if !is_useful(session, shape.partitioning.as_ref())? {
        return Ok(Way::Copy(None));
    }
    Ok(match shape.obstacle(staging.filled()) {
        Some(reason) => Way::Copy(Some(reason)),
        None => Way::Switch(Box::new(shape)),
    })
}

/// The note of a plan on how rows get into a target that exists; `None` if nothing needs to be noted.
pub fn note(session: &mut SqlSession, staging: &Staging, way: &Way) -> Result<Option<String>> {
    let target = &staging.plan.name.sql;
    if matches!(way, Way::Rename) || staging.plan.mode == WriteMode::Upsert {
        return Ok(None);
    }
    let partitioning = Partitioning::of_table(session, target)?;
    Ok(match (partitioning, way) {
        (None, Way::Copy(Some(reason))) => Some(format!(
            "{target} gets its rows by INSERT ... SELECT and not by SWITCH, because {reason}"
        )),
        (None, _) => None,
        (Some(partitioning), way) => {
            let words = partitioning.words();
            let how = match way {
                Way::Copy(None) => "its partitions get their rows by INSERT ... SELECT".to_owned(),
                Way::Copy(Some(reason)) => format!(
                    "its partitions get their rows by INSERT ... SELECT and not by SWITCH, because {reason}"
                ),
                Way::Switch(_) | Way::Rename => {
                    "rows are switched into its empty partitions; partitions with rows get theirs by INSERT ... SELECT"
                        .to_owned()
                }
            };
            Some(format!("{target} is {words}: {how}"))
        }
    })
}

/// Finds the way for a target, and prepares the staging table for it.
pub fn prepare(session: &mut SqlSession, staging: &Staging, options: &Options) -> Result<Way> {
    let target = &staging.plan.name;
    let way = find(session, staging, options, |session, partitioning| {
        is_useful(session, staging, partitioning)
    })?;
    let shape = match way {
        Way::Rename if options.columnstore => {
            build_columnstore(session, staging)?;
            return Ok(Way::Rename);
        }
        Way::Rename => {
            // An earlier attempt may have prepared the staging table for a target that was dropped since.
            make_bare(session, staging)?;
            return Ok(way);
        }
        Way::Copy(_) => return Ok(way),
        Way::Switch(shape) => shape,
    };
    staging.drop_key_indexes(session)?;
    let mut own = TableShape::read(session, &staging.sql)?;
    if !shape.has_those_of(&own, &staging.name) {
        // The target was changed after an earlier attempt.
        make_bare(session, staging)?;
        own = TableShape::read(session, &staging.sql)?;
    }
    if !own.has_columns_and_place_of(&shape) {
        let reason = "it was changed after the load began".to_owned();
        return Ok(Way::Copy(Some(reason)));
    }
    let doing = format!(
        "cannot give the staging table of {} the indexes and CHECKs of the target",
        target.sql
    );
    for statement in shape.complete_statements(&staging.sql, &staging.name, Some(&own)) {
        session.run(&doing, &statement)?;
    }
    Ok(Way::Switch(shape))
}

/// Makes a staging table a bare heap again. This is needed if an earlier attempt has given it indexes and CHECKs, and
/// more rows follow or the target was changed. With an index, streams would wait for each other. A bulk load would not
/// check a CHECK, and the server would not trust it afterwards.
pub fn make_bare(session: &mut SqlSession, staging: &Staging) -> Result<()> {
    let doing = format!(
        "cannot remove the indexes and CHECKs from the staging table of {}",
        staging.plan.name.sql
    );
    let own = TableShape::read(session, &staging.sql)?;
    let drop_constraint = |name: &str| drop_constraint_statement(staging, &sql::identifier(name));
    let checks = own.checks.iter().map(|check| drop_constraint(&check.name));
    // The first index is the clustered one, and is dropped last. If it were dropped first, the server would build the
    // others again.
    let indexes = own
        .indexes
        .iter()
        .rev()
        .map(|index| match index.is_constraint() {
            true => drop_constraint(&index.name),
            false => drop_index_statement(staging, &sql::identifier(&index.name)),
        });
    for statement in checks.chain(indexes) {
        session.run(&doing, &statement)?;
    }
    Ok(())
}

/// The statement that drops a constraint of a staging table. The name is quoted.
pub fn drop_constraint_statement(staging: &Staging, name: &str) -> String {
    format!("ALTER TABLE {} DROP CONSTRAINT {name}", staging.sql)
}

/// The statement that drops an index of a staging table. The name is quoted.
pub fn drop_index_statement(staging: &Staging, name: &str) -> String {
    format!("DROP INDEX {name} ON {}", staging.sql)
}

/// Makes the staging table of a new target a columnstore, unless an earlier attempt has.
fn build_columnstore(session: &mut SqlSession, staging: &Staging) -> Result<()> {
    let own = TableShape::read(session, &staging.sql)?;
    if own.columnstore().is_none() {
        let doing = format!("cannot build the columnstore of {}", staging.plan.name.sql);
        let on = own.partitioning.as_ref().map(Partitioning::on);
        let statement = columnstore::statement(&staging.sql, on);
        session.run(&doing, &statement)?;
    }
    Ok(())
}

/// True if some rows could be switched: their partition or their table is empty, or will be emptied.
fn is_useful(
    session: &mut SqlSession,
    staging: &Staging,
    partitioning: Option<&Partitioning>,
) -> Result<bool> {
    let target = &staging.plan.name;
    if staging.plan.mode != WriteMode::Append {
        return Ok(true);
    }
    let Some(partitioning) = partitioning else {
        return Ok(!catalog::has_rows(session, target)?);
    };
    for (number, _) in staged_partitions(session, staging, partitioning)? {
        if !has_rows_in(session, staging, partitioning, number)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fails if a loaded column has another type than in staging, because somebody changed the target after the plan was made. A
/// statement that copies rows would convert the values: the server rounds numbers and times, and replaces characters by `?`,
/// without an error.
pub fn refuse_other_types(
    session: &mut SqlSession,
    staging: &Staging,
    shape: &TableShape,
) -> Result<()> {
    let target = &staging.plan.name.sql;
    for staged in catalog::catalog_columns(session, &staging.sql)? {
        let name = &staged.name;
        let found = shape.columns.iter().find(|column| column.name == *name);
        let what = match found {
            None => format!("{target} has no column {name} any more"),
            Some(own) if own.catalog_type.keeps_all_of(&staged.catalog_type) => continue,
            Some(own) => format!(
                "column {name} of {target} is {} now, but the load was planned for {}",
                own.catalog_type.sql(),
                staged.catalog_type.sql()
            ),
        };
        return Err(Error::Unsuitable {
            what,
            hint: "somebody changed the table meanwhile: run the same command again, which makes a new plan".to_owned(),
        });
    }
    Ok(())
}

/// The partitions of the target that the staged rows fall into, with their rows.
pub fn staged_partitions(
    session: &mut SqlSession,
    staging: &Staging,
    partitioning: &Partitioning,
) -> Result<Vec<(u64, u64)>> {
    let doing = format!("cannot count the staged rows of {}", staging.plan.name.sql);
    let number = partitioning.number();
    let question = format!(
        "SELECT {number}, COUNT_BIG(*) FROM {} GROUP BY {number} ORDER BY {number}",
        staging.sql
    );
    let rows = session.rows(&doing, &question)?;
    let number = |value: &Option<String>| value.as_deref()?.parse().ok();
    let pair = |row: &Vec<Option<String>>| Some((number(row.first()?)?, number(row.get(1)?)?));
    Ok(rows.iter().filter_map(pair).collect())
}

/// True if a partition of the target has a row.
pub fn has_rows_in(
    session: &mut SqlSession,
    staging: &Staging,
    partitioning: &Partitioning,
    number: u64,
) -> Result<bool> {
    let target = &staging.plan.name.sql;
    let doing = format!("cannot check whether partition {number} of {target} has rows");
    let question = format!(
        "SELECT TOP (1) 1 FROM {target} WHERE {} = {number}",
        partitioning.number()
    );
    Ok(session.number(&doing, &question)?.is_some())
}
