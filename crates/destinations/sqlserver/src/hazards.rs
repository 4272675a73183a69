//! Finds, for a preflight, what would slow down or disturb a load: the recovery model, the space in data files and in the
//! log, and views that the server updates together with the targets. Triggers are notes of the plan (`catalog.rs`).
//!
//! Each question is asked separately. If the server refuses to answer one, for example because the login lacks a right,
//! only its figure is missing, and a note says so. The recovery model and the sizes of files need no right. The
//! question about the service (instant file initialization) needs VIEW SERVER STATE, or from SQL Server 2022 on VIEW
//! SERVER SECURITY STATE.

use std::collections::BTreeSet;

use inrush_destination::{Error, ExpectedLoad, LoadVolume, Result, TargetPlan, WriteMode};
use inrush_rows::finding::Finding;
use inrush_rows::quantity;

use crate::catalog;
use crate::connection::SqlSession;
use crate::options::Options;
use crate::server::Server;
use crate::shape::TableShape;
use crate::sql;

const PAGE_BYTES: u64 = 8192;

/// The hazards of loading these targets.
pub fn of_load(
    session: &mut SqlSession,
    server: &Server,
    options: &Options,
    targets: &[TargetPlan],
    expected: &ExpectedLoad,
) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    if server.is_babelfish {
        // Babelfish has the files and the log of PostgreSQL.
        return Ok(found);
    }
    if let Some(volume) = &expected.volume {
        of_volume(session, server, options, targets, volume, &mut found)?;
        return Ok(found);
    }
    for target in targets {
        let asked = indexed_views(session, &target.name.sql);
        let about = format!("which indexed views read {}", target.name.sql);
        let views = known(&mut found, &about, asked)?.unwrap_or_default();
        if !views.is_empty() {
            found.push(of_views(&target.name.sql, &views));
        }
    }
    Ok(found)
}

/// The hazards that depend on the number of bytes.
fn of_volume(
    session: &mut SqlSession,
    server: &Server,
    options: &Options,
    targets: &[TargetPlan],
    volume: &LoadVolume,
    found: &mut Vec<Finding>,
) -> Result<()> {
    let asked = RecoveryModel::ask(session);
    let recovery = known(found, "the recovery model", asked)?;
    if let Some(recovery) = &recovery {
        found.extend(recovery.finding(server.is_azure, volume));
    }
    let asked = Files::ask(session);
    if let Some(files) = known(found, "the space in the database's files", asked)? {
        let spaces = Spaces::ask(session, options, targets)?;
        let room = files.room(&|file| !file.is_log && spaces.ids.contains(&file.space));
        let needed = volume.text_bytes * if spaces.is_copied { 2 } else { 1 };
        found.extend(of_data_files(&room, needed, spaces.is_copied));
        // Azure decides how files grow, and does not show the settings of its services.
        if !server.is_azure && needed > room.free_bytes {
            let asked = grows_at_once(session);
            let about = "whether data files grow at once (instant file initialization)";
            if known(found, about, asked)? == Some(false) {
                found.push(of_slow_growth());
            }
        }
        if recovery.is_some_and(|recovery| recovery.is_full) && !server.is_azure {
            found.extend(of_log(&files.room(&|file| file.is_log), needed));
        }
    }
    Ok(())
}

/// The answer to a question. If the server refuses to answer, adds a note.
fn known<T>(found: &mut Vec<Finding>, about: &str, asked: Result<T>) -> Result<Option<T>> {
    match asked {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Refused { message, .. }) => {
            found.push(Finding::tells(format!("{about} is not known: {message}")));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The recovery model of the database.
struct RecoveryModel {
    database: String,
    /// It is FULL.
    is_full: bool,
    /// The database is in an availability group, which requires FULL.
    is_in_group: bool,
}

impl RecoveryModel {
    fn ask(session: &mut SqlSession) -> Result<RecoveryModel> {
        let rows = session.rows(
            "cannot read the recovery model",
            "SELECT name, recovery_model_desc, CASE WHEN replica_id IS NULL THEN 0 ELSE 1 END FROM sys.databases WHERE name = \
             DB_NAME()",
        )?;
        let row = rows.into_iter().next().unwrap_or_default();
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        Ok(RecoveryModel {
            database: text(0),
            is_full: text(1) == "FULL",
            is_in_group: text(2) == "1",
        })
    }

    /// Under FULL nothing is minimally logged
    /// (learn.microsoft.com: prerequisites for minimal logging in bulk import).
    fn finding(&self, is_azure: bool, volume: &LoadVolume) -> Option<Finding> {
        let Self { database, .. } = self;
        let logged = quantity::bytes(volume.text_bytes);
        if !self.is_full {
            return None;
        }
        Some(if is_azure {
            Finding::tells(format!(
                "the recovery model is FULL, as always in Azure: all rows (about {logged}) are also written to the log, whose rate \
                 the service limits"
            ))
        } else if self.is_in_group {
            Finding::tells(format!(
                "the recovery model of {database} is FULL, as its availability group requires: all rows (about {logged}) are also \
                 written to the log, and sent to the replicas"
            ))
        } else {
            Finding::hurts(
                format!(
                    "the recovery model of {database} is FULL: all rows (about {logged}) are also written to the log, because loads \
                     are not minimally logged"
                ),
                format!(
                    "if the load can be repeated after a loss: ALTER DATABASE {0} SET RECOVERY BULK_LOGGED before it; ALTER DATABASE \
                     {0} SET RECOVERY FULL and a backup of the log after it",
                    sql::identifier(database)
                ),
            )
        })
    }
}

/// The files of the database.
struct Files(Vec<File>);

struct File {
    /// The number of its filegroup.
    space: String,
    is_log: bool,
    size_pages: u64,
    used_pages: u64,
    /// Pages that it may grow to; `None` if only the disk limits them.
    pages_max: Option<u64>,
}

/// The space in some files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Room {
    /// Bytes that are free in them now.
    free_bytes: u64,
    /// Bytes by which they may grow; `None` if only the disk limits them.
    growth_bytes: Option<u64>,
}

impl Room {
    /// True if this number of bytes does not fit, however much the files grow.
    fn is_too_small_for(&self, bytes: u64) -> bool {
        let growth = self.growth_bytes;
        growth.is_some_and(|growth| bytes > self.free_bytes.saturating_add(growth))
    }
}

impl Files {
    /// The size of a database file is in pages; `growth` 0 means that it does not grow, and `max_size` -1 that it grows until the
    /// disk is full (learn.microsoft.com: sys.database_files).
    fn ask(session: &mut SqlSession) -> Result<Files> {
        let rows = session.rows(
            "cannot read the list of the database's files",
            "SELECT data_space_id, type_desc, size, max_size, growth, FILEPROPERTY(name, N'SpaceUsed') FROM sys.database_files",
        )?;
        let files = rows.into_iter().filter_map(|row| {
            let text = |at: usize| row.get(at).and_then(Option::as_deref);
            let number = |at| text(at)?.parse::<i64>().ok();
            let size_pages = u64::try_from(number(2)?).ok()?;
            Some(File {
                space: text(0)?.to_owned(),
                is_log: match text(1)? {
                    "LOG" => true,
                    "ROWS" => false,
                    _ => return None,
                },
                size_pages,
                used_pages: number(5).and_then(|pages| u64::try_from(pages).ok())?,
                pages_max: match (number(3)?, number(4)?) {
                    (_, 0) => Some(size_pages),
                    (pages_max, _) => u64::try_from(pages_max).ok(),
                },
            })
        });
        Ok(Files(files.collect()))
    }

    /// The space in the files for which `are_meant` is true.
    fn room(&self, are_meant: &dyn Fn(&File) -> bool) -> Room {
        let mut room = Room {
            free_bytes: 0,
            growth_bytes: Some(0),
        };
        for file in self.0.iter().filter(|file| are_meant(file)) {
            room.free_bytes += file.size_pages.saturating_sub(file.used_pages) * PAGE_BYTES;
            let growth = file
                .pages_max
                .map(|pages| pages.saturating_sub(file.size_pages) * PAGE_BYTES);
            room.growth_bytes = room.growth_bytes.zip(growth).map(|(a, b)| a + b);
        }
        room
    }
}

/// The filegroups that store the rows of a load.
struct Spaces {
    /// The numbers of the filegroups.
    ids: BTreeSet<String>,
    /// Some rows are staged and then copied, so they are stored twice for a while.
    is_copied: bool,
}

impl Spaces {
    fn ask(session: &mut SqlSession, options: &Options, targets: &[TargetPlan]) -> Result<Spaces> {
        let mut spaces = Spaces {
            ids: BTreeSet::new(),
            is_copied: false,
        };
        for target in targets {
            let condition = match catalog::is_table(session, &target.name)? {
                true => {
                    spaces.is_copied |= is_copied(session, options, target)?;
                    spaces.add_of_table(session, &target.name.sql)?;
                    continue;
                }
                false if target.partition_by.is_empty() => "is_default = 1".to_owned(),
                false if options.filegroups.is_empty() => "name = N'PRIMARY'".to_owned(),
                false => {
                    let names = options.filegroups.iter().map(|name| sql::text(name));
                    format!("name IN ({})", names.collect::<Vec<_>>().join(", "))
                }
            };
            let question = format!("SELECT data_space_id FROM sys.filegroups WHERE {condition}");
            spaces.add(session, &question)?;
        }
        Ok(spaces)
    }

    fn add_of_table(&mut self, session: &mut SqlSession, table: &str) -> Result<()> {
        let object = sql::text(table);
        let of_rows = format!("WHERE i.object_id = OBJECT_ID({object}) AND i.index_id < 2");
        self.add(
            session,
            &format!(
                "SELECT f.data_space_id FROM sys.indexes i JOIN sys.filegroups f ON f.data_space_id = i.data_space_id {of_rows}"
            ),
        )?;
        self.add(
            session,
            &format!(
                "SELECT d.data_space_id FROM sys.indexes i JOIN sys.destination_data_spaces d ON d.partition_scheme_id = \
                 i.data_space_id {of_rows}"
            ),
        )
    }

    fn add(&mut self, session: &mut SqlSession, question: &str) -> Result<()> {
        let rows = session.rows("cannot find out where rows are stored", question)?;
        self.ids.extend(rows.into_iter().flatten().flatten());
        Ok(())
    }
}

/// True if the rows of a target that exists are copied after they were staged, as far as the plan shows.
fn is_copied(session: &mut SqlSession, options: &Options, target: &TargetPlan) -> Result<bool> {
    if !options.switch {
        return Ok(true);
    }
    let shape = TableShape::read(session, &target.name.sql)?;
    let filled = target.columns.iter().map(|column| column.name.as_str());
    let fills_up = target.mode == WriteMode::Append && shape.partitioning.is_none();
    Ok(shape.obstacle(filled).is_some() || fills_up && catalog::has_rows(session, &target.name)?)
}

/// True if data files grow without being filled with zeros, or if the server does not report it.
fn grows_at_once(session: &mut SqlSession) -> Result<bool> {
    let rows = session.rows(
        "cannot read the settings of the server's service",
        "SELECT servicename, instant_file_initialization_enabled FROM sys.dm_server_services",
    )?;
    let is_of_engine = |row: &&Vec<Option<String>>| {
        let name = row.first().and_then(Option::as_deref);
        // Other services are the agent, full-text search and the launchpad.
        name.is_some_and(|name| name.starts_with("SQL Server ("))
    };
    let engine = rows.iter().find(is_of_engine);
    let is_enabled = engine.and_then(|row| row.get(1)).and_then(Option::as_deref);
    Ok(is_enabled != Some("N"))
}

/// The views with an index that read a table.
fn indexed_views(session: &mut SqlSession, table: &str) -> Result<Vec<String>> {
    let question = format!(
        "SELECT v.name FROM sys.views v JOIN sys.indexes i ON i.object_id = v.object_id WHERE i.index_id = 1 AND v.object_id IN \
         (SELECT referencing_id FROM sys.sql_expression_dependencies WHERE referenced_id = OBJECT_ID({}) AND \
         is_schema_bound_reference = 1) ORDER BY v.name",
        sql::text(table)
    );
    let rows = session.rows("cannot look for indexed views", &question)?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

fn of_views(table: &str, views: &[String]) -> Finding {
    Finding::hurts(
        format!(
            "indexed views read {table}, and the switch writes its rows to them, too: {}",
            views.join(", ")
        ),
        "drop their indexes before the load, and create them again after it",
    )
}

fn of_data_files(room: &Room, needed_bytes: u64, is_copied: bool) -> Option<Finding> {
    let Room {
        free_bytes,
        growth_bytes,
    } = *room;
    let twice = match is_copied {
        true => ", which are stored twice until the copies are made",
        false => "",
    };
    let rows = format!(
        "the rows have about {}{twice}",
        quantity::bytes(needed_bytes)
    );
    let free = quantity::bytes(free_bytes);
    if room.is_too_small_for(needed_bytes) {
        return Some(Finding::hurts(
            format!(
                "{rows}; the data files have {free} free and may grow by {}: the load may fail (error 1105)",
                quantity::bytes(growth_bytes.unwrap_or_default())
            ),
            "add files to the filegroup, or raise the MAXSIZE of its files",
        ));
    }
    (needed_bytes > free_bytes).then(|| {
        Finding::tells(format!(
            "{rows}; the data files have {free} free: they grow during the load"
        ))
    })
}

fn of_slow_growth() -> Finding {
    Finding::hurts(
        "instant file initialization is off: the server writes zeros to each new part of a data file, and the rows wait for that",
        "grant the service's account the right \"Perform volume maintenance tasks\", or let the files grow before the load: \
         ALTER DATABASE ... MODIFY FILE (... SIZE = ...)",
    )
}

fn of_log(room: &Room, needed_bytes: u64) -> Option<Finding> {
    room.is_too_small_for(needed_bytes).then(|| {
        Finding::hurts(
            format!(
                "about {} are written to the log, which has {} free and may grow by {}: if it is not backed up meanwhile, the load \
                 fails (error 9002)",
                quantity::bytes(needed_bytes),
                quantity::bytes(room.free_bytes),
                quantity::bytes(room.growth_bytes.unwrap_or_default())
            ),
            "back up the log during the load, or raise the MAXSIZE of its files",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(space: &str, size_pages: u64, used_pages: u64, pages_max: Option<u64>) -> File {
        File {
            space: space.to_owned(),
            is_log: false,
            size_pages,
            used_pages,
            pages_max,
        }
    }

    #[test]
    fn room_is_what_is_free_and_what_files_may_grow_by() {
        let mut files = Files(vec![
            file("1", 100, 40, Some(100)),
            file("1", 10, 10, Some(30)),
            file("2", 5, 0, Some(5)),
        ]);
        let of_first = |files: &Files| files.room(&|file| file.space == "1");
        let room = of_first(&files);
        let expected = Room {
            free_bytes: 60 * PAGE_BYTES,
            growth_bytes: Some(20 * PAGE_BYTES),
        };
        assert_eq!(room, expected);
        assert!(!room.is_too_small_for(80 * PAGE_BYTES));
        assert!(room.is_too_small_for(80 * PAGE_BYTES + 1));
        // If one file may grow until the disk is full, any number of bytes counts as fitting.
        files.0.push(file("1", 1, 1, None));
        let room = of_first(&files);
        assert_eq!(room.growth_bytes, None);
        assert!(!room.is_too_small_for(u64::MAX));
    }
}
