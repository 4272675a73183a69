//! Generates the files of TPC-H. They are byte for byte the same as the files of dbgen.
//!
//! A table in several parts is `<table>.tbl.1`, `<table>.tbl.2` and so on, each as `dbgen -C <parts> -S <part>` writes
//! it. A table in one part is `<table>.tbl`. The two small tables always have one part.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use inrush::cancel::Stop;
use inrush_system::threads::on_threads;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

use super::one_file;

/// The tables, each with its share of all bytes in thousandths. The largest are generated first, so that no thread is
/// left alone with a large one at the end.
const TABLES: [(&str, u64); 8] = [
    ("lineitem", 690),
    ("orders", 160),
    ("partsupp", 110),
    ("part", 22),
    ("customer", 22),
    ("supplier", 1),
    ("nation", 0),
    ("region", 0),
];

/// Tables that always have one file.
const SMALL: [&str; 2] = ["nation", "region"];

/// The smallest scale; below it there would be no supplier.
const SCALE_MIN: f64 = 0.0001;
const SCALE_MAX: f64 = 100_000.0;

/// The most parts; dbgen's own limit is lower.
const PARTS_MAX: u32 = 100_000;

/// The number of rows between two reports of progress.
const ROWS_PER_WORD: u64 = 16_384;

/// A table that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedTable {
    /// Its name.
    pub table: String,
    /// Its files, in the order of their parts.
    pub files: Vec<PathBuf>,
    /// Rows in all of them.
    pub rows: u64,
    /// Bytes in all of them.
    pub bytes: u64,
}

/// Generates all tables in `folder`, which is created. `progress` gets the name of a table and the number of further
/// rows; it is called from all threads. An existing file is written again.
pub fn generate(
    folder: &Path,
    scale: f64,
    parts: u32,
    threads: usize,
    progress: &(dyn Fn(&str, u64) + Sync),
) -> io::Result<Vec<GeneratedTable>> {
    let generation = Generation {
        folder,
        scale,
        parts,
        tables: &TABLES.map(|(table, _)| table),
        wanted: &(1..=parts).collect::<Vec<_>>(),
        threads,
        keep_files: false,
        stop: &Stop::default(),
    };
    let told = |told: Told<'_>| {
        if let Told::Rows { table, rows } = told {
            progress(table, rows);
        }
    };
    let made = generation.make(&told)?;
    let tables = TABLES.iter().map(|(table, _)| {
        let of_table = || made.iter().filter(move |made| made.table == *table);
        GeneratedTable {
            table: (*table).to_owned(),
            files: of_table().map(|made| made.path.clone()).collect(),
            rows: of_table().filter_map(|made| made.rows).sum(),
            bytes: of_table().map(|made| made.bytes).sum(),
        }
    });
    Ok(tables.collect())
}

/// The settings of generating TPC-H.
pub struct Generation<'a> {
    /// The folder of the files, which is created.
    pub folder: &'a Path,
    /// TPC-H's scale factor.
    pub scale: f64,
    /// Parts of each large table.
    pub parts: u32,
    /// The tables.
    pub tables: &'a [&'a str],
    /// The parts. The two small tables have one part, which is generated with the first part.
    pub wanted: &'a [u32],
    /// The number of files that are written at a time.
    pub threads: usize,
    /// True if an existing file stays. Such a file is complete, because files get their names when they are complete.
    pub keep_files: bool,
    /// Asks to stop.
    pub stop: &'a Stop,
}

/// The progress of generating, from all threads.
pub enum Told<'a> {
    /// More rows of a table.
    Rows {
        /// The table.
        table: &'a str,
        /// The number of further rows.
        rows: u64,
    },
    /// A file is complete.
    File(&'a Generated),
}

/// A file of TPC-H.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Its table.
    pub table: String,
    /// Its part, counted from 1.
    pub part: u32,
    /// Its path.
    pub path: PathBuf,
    /// Its rows; `None` if the file existed.
    pub rows: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
}

impl Generation<'_> {
    /// Refuses settings that dbgen does not support.
    pub fn check(&self) -> io::Result<()> {
        check(self.scale, self.parts)?;
        if let Some(part) = self
            .wanted
            .iter()
            .find(|part| !(1..=self.parts).contains(part))
        {
            return Err(no_part(*part, self.parts));
        }
        Ok(())
    }

    /// Generates the files, the largest first. Returns them by table and part.
    pub fn make(&self, told: &(dyn Fn(Told<'_>) + Sync)) -> io::Result<Vec<Generated>> {
        self.check()?;
        std::fs::create_dir_all(self.folder).map_err(|error| named(error, self.folder))?;
        let jobs = self.jobs();
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let work = || {
            let mut made = Vec::new();
            while let Some(&(table, part)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if failed.load(Ordering::Relaxed) {
                    break;
                }
                let one = self.one(table, part, told);
                failed.fetch_or(one.is_err(), Ordering::Relaxed);
                let one = one?;
                told(Told::File(&one));
                made.push(one);
            }
            Ok::<_, io::Error>(made)
        };
        let mut made = on_threads(self.threads.min(jobs.len()), &work)?;
        let place = |table: &str| TABLES.iter().position(|(name, _)| *name == table);
        made.sort_by_key(|made| (place(&made.table), made.part));
        Ok(made)
    }

    /// Tables and their parts, the largest tables first.
    fn jobs(&self) -> Vec<(&'static str, u32)> {
        let wanted = TABLES.iter().map(|(table, _)| *table);
        wanted
            .filter(|table| self.tables.contains(table))
            .flat_map(|table| {
                let own = self.wanted.iter().copied();
                let own = own.filter(move |part| *part <= parts_of(table, self.parts));
                own.map(move |part| (table, part))
            })
            .collect()
    }

    fn one(
        &self,
        table: &str,
        part: u32,
        told: &(dyn Fn(Told<'_>) + Sync),
    ) -> io::Result<Generated> {
        let parts = parts_of(table, self.parts);
        let path = self.folder.join(file_name(table, parts, part));
        let write = |output: &mut dyn Write| {
            let rows = &|rows| {
                told(Told::Rows { table, rows });
                match self.stop.asked() {
                    None => Ok(()),
                    Some(_) => Err(one_file::stopped()),
                }
            };
            write_part(table, self.scale, parts, part, output, rows)
        };
        if self.stop.asked().is_some() {
            return Err(one_file::stopped());
        }
        let written = one_file::write(&path, self.keep_files, write)?;
        Ok(Generated {
            table: table.to_owned(),
            part,
            path,
            rows: written.rows,
            bytes: written.bytes,
        })
    }
}

/// Writes one part of a table, as `dbgen -C <parts> -S <part>` does. Returns the number of its rows.
#[cfg(test)]
pub fn generate_part(
    table: &str,
    scale: f64,
    parts: u32,
    part: u32,
    output: &mut dyn Write,
) -> io::Result<u64> {
    check(scale, parts)?;
    if part == 0 || part > parts {
        return Err(no_part(part, parts));
    }
    write_part(table, scale, parts, part, output, &|_| Ok(()))
}

fn no_part(part: u32, parts: u32) -> io::Error {
    refused(format!("there is no part {part} of {parts}"))
}

/// Checks that dbgen makes files of a scale.
pub fn scale_is_known(scale: f64) -> io::Result<()> {
    if !(SCALE_MIN..=SCALE_MAX).contains(&scale) {
        return Err(refused(format!(
            "the scale {scale} is not between {SCALE_MIN} and {SCALE_MAX}"
        )));
    }
    Ok(())
}

fn check(scale: f64, parts: u32) -> io::Result<()> {
    scale_is_known(scale)?;
    if !(1..=PARTS_MAX).contains(&parts) {
        return Err(refused(format!(
            "{parts} parts are not between 1 and {PARTS_MAX}"
        )));
    }
    Ok(())
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn named(error: io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The number of parts of a table, if the large tables have `parts`.
pub fn parts_of(table: &str, parts: u32) -> u32 {
    if SMALL.contains(&table) { 1 } else { parts }
}

/// The name of a part's file, as dbgen names it.
pub fn file_name(table: &str, parts: u32, part: u32) -> String {
    if parts == 1 {
        format!("{table}.tbl")
    } else {
        format!("{table}.tbl.{part}")
    }
}

fn write_part(
    table: &str,
    scale: f64,
    parts: u32,
    part: u32,
    output: &mut dyn Write,
    told: &dyn Fn(u64) -> io::Result<()>,
) -> io::Result<u64> {
    // Both are far below the limit of `i32`: `check` has made sure.
    let (parts, part) = (parts as i32, part as i32);
    match table {
        "lineitem" => write_rows(
            LineItemGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        "orders" => write_rows(OrderGenerator::new(scale, part, parts).iter(), output, told),
        "partsupp" => write_rows(
            PartSuppGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        "part" => write_rows(PartGenerator::new(scale, part, parts).iter(), output, told),
        "customer" => write_rows(
            CustomerGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        "supplier" => write_rows(
            SupplierGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        "nation" => write_rows(
            NationGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        "region" => write_rows(
            RegionGenerator::new(scale, part, parts).iter(),
            output,
            told,
        ),
        _ => Err(refused(format!("TPC-H has no table {table:?}"))),
    }
}

fn write_rows(
    rows: impl Iterator<Item = impl Display>,
    output: &mut dyn Write,
    told: &dyn Fn(u64) -> io::Result<()>,
) -> io::Result<u64> {
    // Formats into memory first: a call through `dyn Write` for every piece of a field would cost more than the field.
    let mut text = Vec::with_capacity(64 * 1024);
    let mut count = 0;
    for row in rows {
        writeln!(text, "{row}")?;
        if text.len() > 60 * 1024 {
            output.write_all(&text)?;
            text.clear();
        }
        count += 1;
        if count % ROWS_PER_WORD == 0 {
            told(ROWS_PER_WORD)?;
        }
    }
    output.write_all(&text)?;
    told(count % ROWS_PER_WORD)?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn whole(table: &str, scale: f64) -> Vec<u8> {
        let mut bytes = Vec::new();
        generate_part(table, scale, 1, 1, &mut bytes).unwrap();
        bytes
    }

    /// The first rows as the generator of the specification writes them at scale 1.
    #[test]
    fn the_bytes_are_those_of_dbgen() {
        let expected = "1|155190|7706|1|17|21168.23|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|\
                        DELIVER IN PERSON|TRUCK|egular courts above the|\n";
        let mut bytes = Vec::new();
        generate_part("lineitem", 1.0, 1000, 1, &mut bytes).unwrap();
        assert!(bytes.starts_with(expected.as_bytes()));
        let nations = whole("nation", 1.0);
        let first = b"0|ALGERIA|0| haggle. carefully final deposits detect slyly agai|\n";
        assert!(
            nations.starts_with(first),
            "{}",
            String::from_utf8_lossy(&nations)
        );
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        for (table, _) in TABLES {
            let parts = parts_of(table, 7);
            let mut together = Vec::new();
            for part in 1..=parts {
                generate_part(table, 0.01, parts, part, &mut together).unwrap();
            }
            assert!(together == whole(table, 0.01), "{table} differs");
        }
    }

    #[test]
    fn the_account_is_that_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let told = Mutex::new(std::collections::BTreeMap::new());
        let progress = |table: &str, rows| {
            *told.lock().unwrap().entry(table.to_owned()).or_insert(0) += rows;
        };
        let tables = generate(folder.path(), 0.01, 3, 2, &progress).unwrap();
        let expected = [
            ("lineitem", 60175),
            ("orders", 15000),
            ("partsupp", 8000),
            ("part", 2000),
            ("customer", 1500),
            ("supplier", 100),
            ("nation", 25),
            ("region", 5),
        ];
        for (made, (table, rows)) in tables.iter().zip(expected) {
            assert_eq!((made.table.as_str(), made.rows), (table, rows));
            assert_eq!(told.lock().unwrap()[table], rows);
            let contents = made
                .files
                .iter()
                .flat_map(|file| std::fs::read(file).unwrap());
            let contents: Vec<u8> = contents.collect();
            assert_eq!(contents.len() as u64, made.bytes);
            assert!(contents == whole(table, 0.01), "{table} differs");
        }
        let mut names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), 6 * 3 + 2);
        assert!(
            names.contains(&"part.tbl.3".to_owned()) && names.contains(&"nation.tbl".to_owned())
        );
    }

    #[test]
    fn more_parts_than_rows_and_the_smallest_scale() {
        let folder = tempfile::tempdir().unwrap();
        let tables = generate(folder.path(), SCALE_MIN, 20, 2, &|_, _| ()).unwrap();
        let supplier = tables.iter().find(|made| made.table == "supplier").unwrap();
        assert_eq!((supplier.rows, supplier.files.len()), (1, 20));
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9, 0.00001] {
            let error = generate(folder.path(), scale, 1, 1, &|_, _| ()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{scale}");
        }
        assert!(generate(folder.path(), 0.01, 0, 1, &|_, _| ()).is_err());
        let sink = &mut io::sink();
        assert!(generate_part("lineitem", 0.01, 2, 3, sink).is_err());
        assert!(generate_part("lineitem", 0.01, 2, 0, sink).is_err());
        assert!(generate_part("lineitems", 0.01, 2, 1, sink).is_err());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = generate(&file.join("below"), 0.01, 1, 1, &|_, _| ()).unwrap_err();
        assert!(error.to_string().contains("file/below"), "{error}");
    }

    #[test]
    fn a_file_in_the_way_is_named_and_leaves_no_half_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("orders.tbl.2/inside")).unwrap();
        let error = generate(folder.path(), 0.001, 2, 2, &|_, _| ()).unwrap_err();
        assert!(error.to_string().contains("orders.tbl.2"), "{error}");
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".unfinished"), "{name}");
        }
    }
}
