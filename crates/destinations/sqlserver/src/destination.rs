//! A database of a server as a destination.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_destination::sums::ColumnForm;
use inrush_destination::{
    Abilities, Ability, Address, Destination, Error, ExpectedLoad, Filling, Layout, MembersPlan,
    NewRun, OpenRun, PastRun, PublishStep, PublishesInto, ResolvedType, Result, RunLedger,
    RunRecord, RunState, RunSteps, SplitFacts, StepsRequest, TargetFacts, TargetName, TargetPlan,
    UndoRequest, UndoneRun, UnitRecord,
};
use inrush_rows::finding::Finding;
use inrush_rows::ids::RunKey;
use inrush_tdsclient::Interrupt;

use crate::added_partitions::AddedPartitions;
use crate::catalog;
use crate::columnstore;
use crate::connection::{Purpose, SqlSession};
use crate::hazards;
use crate::ledger::{Ledger, StoredRun};
use crate::lock;
use crate::members;
use crate::merge;
use crate::options::Options;
use crate::partitions;
use crate::run::SqlRun;
use crate::server::Server;
use crate::sql;
use crate::staging;
use crate::steps;
use crate::sums;
use crate::types;
use crate::undo;

/// A database as a destination.
pub struct SqlServer {
    control: Mutex<SqlSession>,
    options: Arc<Options>,
    server: Server,
    abilities: Abilities,
    ledger: Ledger,
    described: String,
}

impl SqlServer {
    /// Connects.
    pub fn open(address: &Address<'_>) -> Result<SqlServer> {
        let mut options = Options::read(address)?;
        let interrupt = Arc::new(Interrupt::default());
        let mut control = SqlSession::connect(&options.session, 0, Purpose::Planning, &interrupt)?;
        let server = Server::ask(&mut control)?;
        // Babelfish has no SWITCH.
        options.switch &= !server.is_babelfish;
        let facts = control.facts();
        let described = format!(
            "{} at {}, database {}, {}, {}, packets of {} bytes{}",
            server.product,
            facts.endpoint,
            facts.database,
            options.session.credentials.who(),
            if facts.is_encrypted {
                "encrypted"
            } else {
                "not encrypted"
            },
            facts.packet_size.bytes(),
            match options.columnstore {
                true => ", new tables are clustered columnstores",
                false => "",
            },
        );
        staging::check_name("schema", address.ledger_schema)?;
        Ok(SqlServer {
            control: Mutex::new(control),
            abilities: server.abilities(options.commit_bytes),
            server,
            ledger: Ledger::new(address.ledger_schema),
            options: Arc::new(options),
            described,
        })
    }

    fn control(&self) -> MutexGuard<'_, SqlSession> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work. If another session holds a lock that it needs, the error names the process that loads.
    fn asking<T>(&self, work: impl FnOnce(&mut SqlSession) -> Result<T>) -> Result<T> {
        let mut session = self.control();
        match work(&mut session) {
            Err(error @ Error::Blocked { .. }) => {
                Err(match lock::held(&mut session, &self.ledger, None) {
                    Error::Held { what, hint } => Error::Held {
                        what: format!("{error}: {what}"),
                        hint,
                    },
                    other => other,
                })
            }
            other => other,
        }
    }

    /// The targets of a switched run that do not have its rows any more.
    fn gone(session: &mut SqlSession, stored: &StoredRun) -> Result<Vec<String>> {
        let mut gone = Vec::new();
        if stored.record.state != RunState::Switched {
            return Ok(gone);
        }
        for (target, loaded) in stored.record.targets.iter().zip(&stored.loaded) {
            let holds = match (sql::parse_names(target), loaded) {
                // Other rows have replaced them, or the ledger was changed by hand.
                (None, _) | (_, None) => false,
                (Some((schema, name)), Some(loaded)) => {
                    let is_table = catalog::entry(session, &schema, &name)?
                        .is_some_and(|found| found.kind == "table");
                    let target = TargetName {
                        schema: Some(schema),
                        name,
                        sql: target.clone(),
                    };
                    is_table && (*loaded == 0 || catalog::has_rows(session, &target)?)
                }
            };
            if !holds {
                gone.push(target.clone());
            }
        }
        Ok(gone)
    }
}

impl Destination for SqlServer {
    fn describe(&self) -> String {
        self.described.clone()
    }

    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn target_name(&self, schema: Option<&str>, name: &str) -> Result<TargetName> {
        staging::check_table_name(name)?;
        let schema = match schema {
            Some(schema) => {
                staging::check_name("schema", schema)?;
                schema
            }
            None => &self.server.schema,
        };
        self.asking(|session| {
            let Some(schema) = catalog::schema(session, schema)? else {
                return Err(Error::Unsuitable {
                    what: format!("the schema {schema} of the table {name} does not exist"),
                    hint: format!("make it: CREATE SCHEMA {}", sql::identifier(schema)),
                });
            };
            let name = match self.server.folds_names {
                true => catalog::entry(session, &schema, name)?
                    .map_or_else(|| name.to_owned(), |found| found.name),
                false => name.to_owned(),
            };
            Ok(TargetName {
                sql: sql::table(&schema, &name),
                schema: Some(schema),
                name,
            })
        })
    }

    fn resolve_type(&self, type_name: &str) -> Result<ResolvedType> {
        types::resolve(type_name)
    }

    fn target(&self, name: &TargetName) -> Result<Option<TargetFacts>> {
        self.asking(|session| catalog::target(session, name))
    }

    /// The partitions and the columnstore that the plan asks for are checked here, before anything is changed.
    fn lay_out(&self, target: &TargetPlan, splits: &[SplitFacts<'_>]) -> Result<Layout> {
        staging::check(target)?;
        self.asking(|session| {
            partitions::check(session, &self.options, target)?;
            AddedPartitions::of_plans(session, &self.options, [target])?;
            match self.options.columnstore {
                true => columnstore::check(session, &self.server, target),
                false => Ok(()),
            }
        })?;
        Ok(Layout::one_unit_each(
            splits.len(),
            Filling::OneOrSeveral,
            || PublishesInto::Target,
        ))
    }

    fn steps(&self, request: &StepsRequest<'_>) -> Result<RunSteps> {
        self.asking(|session| steps::of_run(session, &self.options, &self.ledger, request))
    }

    fn check_merge(&self, target: &TargetPlan) -> Result<()> {
        if !self.abilities.can.contains(&Ability::Upsert) {
            return Err(Ability::Upsert.refused());
        }
        self.asking(|session| merge::check(session, target))
    }

    fn check_members(&self, members: &MembersPlan) -> Result<()> {
        if !self.abilities.can.contains(&Ability::AddMembers) {
            return Err(Ability::AddMembers.refused());
        }
        self.asking(|session| members::check(session, members))
    }

    fn begin(&self, run: &NewRun, targets: &[TargetPlan]) -> Result<Box<dyn OpenRun>> {
        Ok(Box::new(SqlRun::begin(
            &self.options,
            &self.server,
            &self.ledger,
            run,
            targets,
        )?))
    }

    fn sum_forms(&self, target: &TargetPlan) -> Result<Vec<ColumnForm>> {
        let columns = target.columns.iter();
        Ok(columns
            .map(|column| sums::form(column, self.server.has_utf8))
            .collect())
    }

    fn hazards(&self, targets: &[TargetPlan], expected: &ExpectedLoad) -> Result<Vec<Finding>> {
        self.asking(|session| {
            hazards::of_load(session, &self.server, &self.options, targets, expected)
        })
    }

    /// A server has no second database that could be used.
    fn scratch(&self, _: &Path) -> Option<String> {
        None
    }
}

impl RunLedger for SqlServer {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        self.asking(|session| {
            if !self.ledger.exists(session)? {
                return Ok(Vec::new());
            }
            let stored = self.ledger.runs(session, run_key)?;
            let past = stored.into_iter().map(|stored| {
                Ok(PastRun {
                    gone: SqlServer::gone(session, &stored)?,
                    record: stored.record,
                })
            });
            past.collect()
        })
    }

    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        self.asking(|session| self.ledger.units(session, run.run_id, see))
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        self.asking(|session| lock::is_held(session, &run.run_key).map(Some))
    }

    fn lineage(&self, run: &RunRecord) -> Result<Option<String>> {
        self.asking(|session| self.ledger.lineage(session, run.run_id))
    }

    fn staged_bytes(&self, run: &RunRecord) -> Result<Option<u64>> {
        if !self.abilities.can.contains(&Ability::StagedBytes) {
            return Ok(None);
        }
        self.asking(|session| {
            let Some(stored) = self.ledger.run(session, run.run_id)? else {
                return Ok(None);
            };
            let mut all = 0;
            for (schema, table) in &stored.staging {
                all += catalog::table_bytes(session, schema, table)?;
            }
            Ok(Some(all))
        })
    }

    fn staging_tables(&self, run: &RunRecord) -> Result<Vec<String>> {
        self.asking(|session| {
            let stored = self.ledger.run(session, run.run_id)?;
            let tables = stored.into_iter().flat_map(|stored| stored.staging);
            Ok(tables
                .map(|(schema, name)| sql::table(&schema, &name))
                .collect())
        })
    }

    fn discard(&self, run: &PastRun) -> Result<()> {
        let (ledger, run) = (&self.ledger, &run.record);
        let interrupt = Arc::new(Interrupt::default());
        let mut session = SqlSession::connect(&self.options.session, 0, Purpose::Run, &interrupt)?;
        lock::take(&mut session, ledger, &run.run_key)?;
        session.in_transaction("cannot give up the run", |session| {
            ledger.fence(session, run)?;
            if let Some(stored) = ledger.run(session, run.run_id)? {
                for (schema, table) in &stored.staging {
                    staging::remove(session, schema, table)?;
                }
            }
            ledger.mark_discarded(session, run.run_id)
        })
    }

    fn undo(
        &self,
        request: &UndoRequest<'_>,
        reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        if !self.abilities.can.contains(&Ability::Undo) {
            return Ok(None);
        }
        let (options, ledger) = (&self.options, &self.ledger);
        let interrupt = Arc::new(Interrupt::default());
        let mut session = SqlSession::connect(&options.session, 0, Purpose::Run, &interrupt)?;
        lock::take(&mut session, ledger, &request.run.run_key)?;
        let waits = request.lock_timeout.as_millis().try_into();
        // The server takes at most this number.
        session.limit_lock_waits(waits.unwrap_or(i32::MAX as u32).min(i32::MAX as u32))?;
        undo::undo(&mut session, options, ledger, request, reached).map(Some)
    }
}
