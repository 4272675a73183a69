//! Marks of appended files, which a database keeps outside of the ledger.
//!
//! If the ledger is lost (its schema was dropped, or the package names another schema) and the same command is given
//! again, appended rows would be loaded twice. So a run that appends leaves a mark for each target: an empty large
//! object whose comment names the run, the target's OID and the files. A large object is not part of any schema, and
//! every role may create one, even a role that may only INSERT. The mark is committed together with the rows, or before
//! the first of them if rows are written directly to the target.
//!
//! A plan is refused only if a mark has the same package, files and table, and the ledger does not know the run that
//! left it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_plan::identity;
use inrush_rows::ids::{RunKey, RunName};
use inrush_source::{Input, RangesMark, SinceRange};

use crate::quote::literal;
use crate::{PostgresError, Session};

/// The most marks of a package; the oldest are removed when a new one is left.
const MARKS_MAX: usize = 500;
/// The most bytes of a package's marks together; a plan reads no more of them for a target.
const BYTES_MAX: usize = 1 << 20;
/// The most keys of a mark. The smallest keys are taken, because the same files always have the same smallest keys, and
/// most overlapping sets of files share some of them.
const KEYS_MAX: usize = 1_000;
/// The fewest keys of each mark, however many marks a run has.
const KEYS_MIN: usize = 16;
/// Digits of a file's key in a mark.
const DIGITS: usize = 16;
/// The number of files that one query asks for.
const ASKED_MAX: usize = 10_000;

/// The query for the beginning of each mark. It reads 250 characters, because the words before the keys are always
/// shorter.
const HEADS: &str = "SELECT m.oid, pg_has_role(m.lomowner, 'USAGE') AS is_own, \
       octet_length(d.description)::bigint AS bytes, \
       string_to_array(substr(d.description, 1, 250), ' ') AS words \
     FROM pg_largeobject_metadata m \
     JOIN pg_description d ON d.objoid = m.oid AND d.classoid = 'pg_largeobject'::regclass \
     WHERE starts_with(substr(d.description, 1, 250), $1)";

/// The mark of a run for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// A sentence for the person who finds the mark.
    about: String,
    run: RunName,
    target_oid: u32,
    /// Microseconds since 1970.
    made_us: u128,
    /// The smallest keys of its files.
    keys: Vec<String>,
}

/// A mark in the database that names a file which a plan would append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMark {
    /// Its large object.
    pub oid: u32,
    /// The run that left it.
    pub run: RunName,
    /// The target's OID.
    pub target_oid: u32,
    /// The key of one of the files.
    pub key: String,
}

impl Mark {
    /// The mark for the files that a flow of a run appends to a target; `None` if no later load can have the same
    /// files.
    pub fn new<'a>(
        run: &RunName,
        target: &str,
        target_oid: u32,
        files: impl Iterator<Item = &'a Arc<dyn Input>>,
    ) -> Option<Mark> {
        let mut keys: Vec<String> = files.filter_map(|file| file_key(&**file)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.truncate(KEYS_MAX);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        (!keys.is_empty()).then(|| Mark {
            about: format!(
                "Inrush run {run} appended files to {target}; this keeps them from being appended twice if the ledger is lost"
            ),
            run: run.clone(),
            target_oid,
            made_us: now.map_or(0, |now| now.as_micros()),
            keys,
        })
    }

    /// The comment of the large object.
    fn text(&self, run_key: &RunKey, keys_max: usize) -> String {
        let Mark {
            about,
            run,
            target_oid,
            made_us,
            keys,
        } = self;
        let keys = keys[..keys.len().min(keys_max)].join(",");
        let beginning = beginning(run_key);
        format!("{beginning}{target_oid} {made_us:016} {run} {keys} {about}")
    }
}

/// The key of a file in its present state. A file whose size or time has changed counts as another file, as in the
/// ledger; a table stays the same one, however it has changed. A pipe has no key.
pub fn file_key(file: &dyn Input) -> Option<String> {
    if file.is_read_once() {
        return None;
    }
    let texts = match SinceRange::from_mark(&file.mark()) {
        // Each run has another range, which cannot be known without the ledger.
        Some(range) => [range.of, range.column, String::new()],
        // Other statistics give other ranges, which cannot be known without the ledger, either.
        None if file.is_loaded_alone_again() => match RangesMark::from_mark(&file.mark()) {
            Some(ranges) => [ranges.of, ranges.column, String::new()],
            None => return None,
        },
        None if file.is_snapshot() => [
            identity::file_key(file).to_string(),
            String::new(),
            String::new(),
        ],
        None => [
            identity::file_key(file).to_string(),
            file.size_bytes().to_string(),
            file.modified_ns().to_string(),
        ],
    };
    let mut key = identity::digest(texts.iter().map(String::as_str));
    key.truncate(DIGITS);
    Some(key)
}

fn beginning(run_key: &RunKey) -> String {
    format!("inrush mark {run_key} ")
}

/// The marks of a package that name one of these files (OID of the target, key), the oldest first. The server compares
/// the keys and returns only the first match of each mark.
pub async fn find(
    session: &Session,
    run_key: &RunKey,
    asked: &[(u32, String)],
) -> Result<Vec<FoundMark>, PostgresError> {
    let sql = format!(
        "WITH heads AS ({HEADS}), \
         asked AS (SELECT target::text, key FROM unnest($2::oid[], $3::text[]) AS asked (target, key)), \
         near AS ( \
           SELECT oid, words, sum(bytes) OVER (PARTITION BY words[4] ORDER BY words[5] DESC, oid DESC) AS bytes \
           FROM heads WHERE words[4] IN (SELECT target FROM asked)), \
         known AS ( \
           SELECT n.oid, n.words[4] AS target, n.words[5] AS made, n.words[6] AS run, \
             unnest(string_to_array(split_part(d.description, ' ', 7), ',')) AS key \
           FROM near n \
           JOIN pg_description d ON d.objoid = n.oid AND d.classoid = 'pg_largeobject'::regclass \
           WHERE n.bytes <= {BYTES_MAX}) \
         SELECT oid, target::oid, run, min(key) FROM known JOIN asked USING (target, key) \
         GROUP BY oid, target, made, run ORDER BY made, oid"
    );
    let beginning = beginning(run_key);
    let mut found = Vec::new();
    for asked in asked.chunks(ASKED_MAX) {
        let (oids, keys): (Vec<u32>, Vec<&str>) =
            asked.iter().map(|(oid, key)| (*oid, key.as_str())).unzip();
        let doing = "looking for marks of earlier runs";
        let rows = session
            .query(&sql, &[&beginning, &oids, &keys], doing)
            .await?;
        found.extend(rows.iter().map(|row| FoundMark {
            oid: row.get(0),
            target_oid: row.get(1),
            run: RunName::new(row.get::<_, &str>(2)),
            key: row.get(3),
        }));
    }
    Ok(found)
}

/// Leaves marks, in the open transaction. They replace marks of an earlier attempt of the run; if there are too many,
/// the oldest are removed. If the role may not create large objects, no mark is left.
pub async fn leave(
    session: &Session,
    run_key: &RunKey,
    marks: &[Mark],
) -> Result<(), PostgresError> {
    let doing = "leaving a mark of the run";
    let Some(first) = marks.first() else {
        return Ok(());
    };
    let allowed = "SELECT has_function_privilege('lo_create(oid)', 'EXECUTE')";
    let rows = session.query(allowed, &[], doing).await?;
    if !rows[0].get::<_, bool>(0) {
        return Ok(());
    }
    let keys_max = (BYTES_MAX / (DIGITS + 1) / marks.len()).clamp(KEYS_MIN, KEYS_MAX);
    let texts: Vec<String> = marks
        .iter()
        .map(|mark| mark.text(run_key, keys_max))
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    let targets: Vec<u32> = marks.iter().map(|mark| mark.target_oid).collect();
    let sql = format!(
        "WITH heads AS ({HEADS}), \
         own AS (SELECT oid, words[6] = $2 AND words[4]::oid = ANY ($3::oid[]) AS is_of_run, \
           row_number() OVER newest AS place, sum(bytes) OVER newest AS bytes \
           FROM heads WHERE is_own AND words[4] ~ '^[0-9]+$' \
           WINDOW newest AS (ORDER BY words[5] DESC, oid DESC)) \
         SELECT lo_unlink(oid) FROM own WHERE is_of_run OR place > $4::bigint OR bytes > $5::bigint"
    );
    let marks_left = MARKS_MAX.saturating_sub(marks.len()) as i64;
    let bytes_left = BYTES_MAX.saturating_sub(bytes) as i64;
    let beginning = beginning(run_key);
    session
        .query(
            &sql,
            &[
                &beginning,
                &first.run.as_str(),
                &targets,
                &marks_left,
                &bytes_left,
            ],
            doing,
        )
        .await?;
    for text in &texts {
        let rows = session.query("SELECT lo_create(0)", &[], doing).await?;
        let oid: u32 = rows[0].get(0);
        // A dump of the database reads all of its large objects, so any role must be allowed to read them.
        let statements = format!(
            "COMMENT ON LARGE OBJECT {oid} IS {}; GRANT SELECT ON LARGE OBJECT {oid} TO PUBLIC",
            literal(text)
        );
        session.execute(&statements, doing).await?;
    }
    Ok(())
}

/// Removes the marks of a run whose rows are taken out of its targets, in the open transaction.
pub async fn forget(session: &Session, run: &RunName) -> Result<(), PostgresError> {
    let sql = format!(
        "WITH heads AS ({HEADS}) SELECT lo_unlink(oid) FROM heads WHERE is_own AND words[6] = $2"
    );
    session
        .query(
            &sql,
            &[&"inrush mark ", &run.as_str()],
            "removing the marks of the run",
        )
        .await?;
    Ok(())
}
