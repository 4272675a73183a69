//! Marks of incremental loads: the ranges in the records of the newest switched run.

use inrush_engine::native::plan::range_marks::RunRanges;
use inrush_engine::native::plan::since::{Marks, SinceMark};
use inrush_engine::upkeep::{MarkOfTarget, Which};
use inrush_rows::ids::{RunKey, RunName};
use inrush_source::SinceRange;

use super::Ledger;
use super::error::LedgerError;
use crate::Session;

impl Ledger {
    /// The marks in a target, which has this OID now: those of the newest switched run of the package that has some.
    pub async fn since_marks(
        &self,
        session: &Session,
        run_key: &RunKey,
        target: &str,
        target_oid: Option<u32>,
    ) -> Result<Vec<SinceMark>, LedgerError> {
        if !super::exists(session, &self.schema).await? {
            return Ok(Vec::new());
        }
        let sql = self.newest("WHERE r.run_key = $1 AND u.target = $2");
        let rows = session
            .query(&sql, &[&run_key.as_str(), &target], "reading the marks")
            .await?;
        let mut marks = Marks::default();
        rows.iter().for_each(|row| marks.see(row.get(3)));
        let Some(row) = rows.first() else {
            return Ok(Vec::new());
        };
        let oids: Vec<u32> = row.get(4);
        let is_gone = target_oid.is_none_or(|oid| !oids.contains(&oid));
        Ok(marks.of(&RunName::new(row.get::<_, &str>(1)), is_gone))
    }

    /// The ranges of which the latest stopped run of a package has loaded rows into a target.
    pub async fn since_stopped(
        &self,
        session: &Session,
        run_key: &RunKey,
        target: &str,
    ) -> Result<Vec<SinceRange>, LedgerError> {
        if !super::exists(session, &self.schema).await? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT DISTINCT s.file_state \
             FROM {run} r JOIN {unit} u USING (run_id) JOIN {shard} s USING (run_id, unit_key) \
             WHERE r.run_id = (SELECT max(run_id) FROM {run} WHERE run_key = $1 AND state = 'loading') \
               AND u.target = $2",
            run = self.table("run"),
            unit = self.table("unit"),
            shard = self.table("shard"),
        );
        let doing = "looking for the range of a stopped run";
        let rows = session
            .query(&sql, &[&run_key.as_str(), &target], doing)
            .await?;
        let range = |row: &tokio_postgres::Row| SinceRange::from_mark(row.get(0));
        Ok(rows.iter().filter_map(range).collect())
    }

    /// The ranges of a key that the newest stopped run of a package has loaded into a target, and those of the newest switched run.
    pub async fn ranges_of(
        &self,
        session: &Session,
        run_key: &RunKey,
        target: &str,
    ) -> Result<Vec<RunRanges>, LedgerError> {
        if !super::exists(session, &self.schema).await? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT DISTINCT r.name, r.state = 'loading', s.file_state, r.run_id \
             FROM {run} r JOIN {unit} u USING (run_id) JOIN {shard} s USING (run_id, unit_key) \
             WHERE r.run_id IN (SELECT max(run_id) FROM {run} \
                                WHERE run_key = $1 AND state IN ('loading', 'switched') GROUP BY state) \
               AND u.target = $2 AND starts_with(s.file_state, 'ranges ') \
             ORDER BY r.run_id DESC",
            run = self.table("run"),
            unit = self.table("unit"),
            shard = self.table("shard"),
        );
        let doing = "looking for the ranges of earlier runs";
        let rows = session
            .query(&sql, &[&run_key.as_str(), &target], doing)
            .await?;
        let of_row = |row: &tokio_postgres::Row| {
            let run = RunName::new(row.get::<_, &str>(0));
            RunRanges::of_states(&run, row.get(1), [row.get(2)])
        };
        Ok(rows.iter().flat_map(of_row).collect())
    }

    /// The marks in all targets, for a person who asks.
    pub async fn marks_of_targets(
        &self,
        session: &Session,
        which: &Which,
    ) -> Result<Vec<MarkOfTarget>, LedgerError> {
        let rows = session
            .query(&self.newest(""), &[], "reading the marks")
            .await?;
        let mut found = Vec::new();
        for row in &rows {
            let (package, run) = (row.get::<_, String>(0), RunName::new(row.get::<_, &str>(1)));
            let mut marks = Marks::default();
            marks.see(row.get(3));
            for mark in marks.of(&run, false) {
                found.push(MarkOfTarget {
                    package: package.clone(),
                    target: row.get(2),
                    run: mark.run,
                    range: mark.range,
                });
            }
        }
        found.retain(|mark| which.is_asked(&mark.package, &mark.run));
        Ok(found)
    }

    /// The states with a range that the newest switched run has in each target of a package: package, run, target, state,
    /// OIDs of the run's targets.
    fn newest(&self, condition: &str) -> String {
        format!(
            "WITH marked AS ( \
               SELECT r.package, r.name, r.run_id, r.run_key, u.target, s.file_state, \
                      coalesce(r.target_oids, '{{}}') AS oids, \
                      max(r.run_id) OVER (PARTITION BY r.run_key, u.target) AS newest \
               FROM {run} r JOIN {unit} u USING (run_id) JOIN {shard} s USING (run_id, unit_key) \
               {condition} {and} r.state = 'switched' AND starts_with(s.file_state, 'since ')) \
             SELECT DISTINCT package, name, target, file_state, oids, run_id FROM marked \
             WHERE run_id = newest ORDER BY package, target, file_state",
            run = self.table("run"),
            unit = self.table("unit"),
            shard = self.table("shard"),
            and = match condition {
                "" => "WHERE",
                _ => "AND",
            },
        )
    }
}
