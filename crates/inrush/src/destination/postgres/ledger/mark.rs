//! Marks of appended files, which a database keeps outside of the ledger.
//!
//! If the ledger is lost (its schema dropped, another one named) and the same command is given again, appended rows would
//! be loaded twice. So a run that appends leaves a mark for each target: an empty large object whose comment
//! names the run, the target's OID and the files. A large object is no part of any schema, and every role may make one,
//! also a role that may only INSERT. It commits with the rows that it tells of, or before the first of them where they
//! go straight into the target.
//!
//! A plan is refused only for the mark of a run that the ledger does not know, with the same package, files and table.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::destination::postgres::quote::literal;
use crate::destination::postgres::{DestinationError, Session};
use crate::plan::identity;
use crate::source::SourceFile;

/// Marks of a package that stay; older ones go when a new one comes.
const MARKS_MAX: usize = 500;
/// Files that a mark names; the same command has the same ones first.
const FILES_MAX: usize = 10_000;
/// Digits of a file's key in a mark.
const DIGITS: usize = 16;

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// For the person who finds it.
    about: String,
    /// The run whose rows they are.
    pub run: String,
    /// The target's OID.
    target_oid: u32,
    /// Keys of the files.
    files: Vec<String>,
}

/// A mark in the database.
#[derive(Clone, Debug)]
pub struct LeftMark {
    /// Its large object.
    pub oid: u32,
    /// This role may remove it.
    is_own: bool,
    /// What it says.
    pub mark: Mark,
}

impl Mark {
    /// Of the files of a flow that a run puts into a target; nothing where none of them can be the same once more.
    pub fn new<'a>(
        run: &str,
        target: &str,
        target_oid: u32,
        files: impl Iterator<Item = &'a SourceFile>,
    ) -> Option<Mark> {
        let files = files.filter(|file| !file.is_pipe());
        let files: Vec<String> = files.take(FILES_MAX).map(file_key).collect();
        (!files.is_empty()).then(|| Mark {
            about: format!(
                "Inrush run {run} appended files to {target}; this keeps them from being appended twice if the ledger is lost"
            ),
            run: run.to_owned(),
            target_oid,
            files,
        })
    }

    /// Whether it tells of this table and one of these files.
    pub fn tells_of<'a>(
        &self,
        target_oid: u32,
        files: impl IntoIterator<Item = &'a SourceFile>,
    ) -> Option<&'a SourceFile> {
        if self.target_oid != target_oid {
            return None;
        }
        let known: BTreeSet<&str> = self.files.iter().map(String::as_str).collect();
        let mut files = files.into_iter();
        files.find(|file| !file.is_pipe() && known.contains(file_key(file).as_str()))
    }
}

/// A file as it is: the ledger, too, takes one of another size or time for another.
fn file_key(file: &SourceFile) -> String {
    let texts = [
        identity::file_key(file),
        file.size_bytes.to_string(),
        file.modified_ns.to_string(),
    ];
    let mut key = identity::digest(texts.iter().map(String::as_str));
    key.truncate(DIGITS);
    key
}

fn beginning(run_key: &str) -> String {
    format!("inrush mark {run_key} ")
}

/// The marks of a package and its targets, the newest last.
pub async fn find(session: &Session, run_key: &str) -> Result<Vec<LeftMark>, DestinationError> {
    let beginning = beginning(run_key);
    let rows = session
        .query(
            "SELECT m.oid, pg_has_role(m.lomowner, 'USAGE'), d.description \
             FROM pg_description d JOIN pg_largeobject_metadata m ON m.oid = d.objoid \
             WHERE d.classoid = 'pg_largeobject'::regclass AND starts_with(d.description, $1)",
            &[&beginning],
            "looking for marks of earlier runs",
        )
        .await?;
    let mut marks: Vec<LeftMark> = rows
        .iter()
        .filter_map(|row| {
            let text: &str = row.get(2);
            Some(LeftMark {
                oid: row.get(0),
                is_own: row.get(1),
                // What somebody else wrote there is none.
                mark: serde_json::from_str(text.strip_prefix(&beginning)?).ok()?,
            })
        })
        .collect();
    // Names of runs begin with the time.
    marks.sort_by(|one, other| one.mark.run.cmp(&other.mark.run));
    Ok(marks)
}

/// Leaves marks, in the transaction that is open. Marks of an earlier attempt of the run give way to them. Where the
/// database's owner lets nobody make large objects, none is left.
pub async fn leave(
    session: &Session,
    run_key: &str,
    marks: &[Mark],
) -> Result<(), DestinationError> {
    let doing = "leaving a mark of the run";
    let Some(first) = marks.first() else {
        return Ok(());
    };
    let allowed = "SELECT has_function_privilege('lo_create(oid)', 'EXECUTE')";
    let rows = session.query(allowed, &[], doing).await?;
    if !rows[0].get::<_, bool>(0) {
        return Ok(());
    }
    let own: Vec<LeftMark> = find(session, run_key)
        .await?
        .into_iter()
        .filter(|left| left.is_own)
        .collect();
    let is_of_run = |left: &LeftMark| {
        let is_target = |mark: &Mark| mark.target_oid == left.mark.target_oid;
        left.mark.run == first.run && marks.iter().any(is_target)
    };
    let excess = (own.len() + marks.len()).saturating_sub(MARKS_MAX);
    for (index, left) in own.iter().enumerate() {
        if index < excess || is_of_run(left) {
            session
                .query("SELECT lo_unlink($1)", &[&left.oid], doing)
                .await?;
        }
    }
    for mark in marks {
        let rows = session.query("SELECT lo_create(0)", &[], doing).await?;
        let oid: u32 = rows[0].get(0);
        let text = serde_json::to_string(mark).expect("a mark has nothing that JSON lacks");
        let text = format!("{}{text}", beginning(run_key));
        // Whoever dumps the database reads all of its large objects.
        let statements = format!(
            "COMMENT ON LARGE OBJECT {oid} IS {}; GRANT SELECT ON LARGE OBJECT {oid} TO PUBLIC",
            literal(&text)
        );
        session.execute(&statements, doing).await?;
    }
    Ok(())
}

/// Removes the marks of a run whose rows are taken out of its targets, in the transaction that is open.
pub async fn forget(session: &Session, run: &str) -> Result<(), DestinationError> {
    let sql = "SELECT lo_unlink(m.oid) \
               FROM pg_description d JOIN pg_largeobject_metadata m ON m.oid = d.objoid \
               WHERE d.classoid = 'pg_largeobject'::regclass \
                 AND starts_with(d.description, 'inrush mark ') \
                 AND strpos(d.description, $1) > 0 AND pg_has_role(m.lomowner, 'USAGE')";
    let named = format!("\"run\":{}", serde_json::Value::from(run));
    session
        .query(sql, &[&named], "removing the marks of the run")
        .await?;
    Ok(())
}
