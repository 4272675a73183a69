//! The files of the workload, in one folder or several.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::manifest::{MANIFEST, Manifest, folder_of};
use super::selection::{self, Selection};
use super::shell_word::quoted;
use crate::error::WorkloadError;
use crate::tpch::{self, Table, TableSize, file_name, parts_of};

/// A table and its files to be loaded.
#[derive(Clone, Debug)]
pub struct TableFiles {
    /// The table.
    pub table: &'static Table,
    /// Its files, by part.
    pub files: BTreeMap<u32, PathBuf>,
    /// Their bytes.
    pub bytes: u64,
}

/// The data to load.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// The scale and parts of the files.
    pub manifest: Manifest,
    /// The folders of the files.
    pub folders: Vec<PathBuf>,
    /// The tables in the sequence of 2009.
    pub tables: Vec<TableFiles>,
}

impl DataSet {
    /// Finds all chosen files, and refuses an incomplete set.
    pub fn find(folders: &[PathBuf], which: &Selection) -> Result<DataSet, WorkloadError> {
        let folders: Vec<PathBuf> = folders
            .iter()
            .map(|folder| folder_of(folder, which.ten_percent))
            .map(|folder| std::path::absolute(&folder).unwrap_or(folder))
            .collect();
        let manifest = common_manifest(&folders, which)?;
        let wanted = selection::parts(which.part.as_deref(), manifest.parts)?;
        let mut tables = Vec::new();
        let mut missing = Vec::new();
        for name in selection::tables(which.tables.as_deref())? {
            let Some(table) = tpch::table(name) else {
                continue;
            };
            let parts = parts_of(name, manifest.parts);
            let mut found = TableFiles {
                table,
                files: BTreeMap::new(),
                bytes: 0,
            };
            for part in wanted.iter().copied().filter(|part| *part <= parts) {
                let name = file_name(name, parts, part);
                match one_of(&folders, &name)? {
                    Some((path, bytes)) => {
                        found.files.insert(part, path);
                        found.bytes += bytes;
                    }
                    None => missing.push((part, name)),
                }
            }
            if !found.files.is_empty() {
                tables.push(found);
            }
        }
        if !missing.is_empty() {
            return Err(incomplete(&folders, &missing, &manifest, which));
        }
        if tables.is_empty() {
            return Err(no_files());
        }
        Ok(DataSet {
            manifest,
            folders,
            tables,
        })
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }

    /// The number of all files.
    pub fn files(&self) -> usize {
        self.tables.iter().map(|table| table.files.len()).sum()
    }

    /// The command that generates one of its files again; `None` for any other file.
    pub fn made_anew(&self, path: &Path) -> Option<String> {
        let (table, part, path) = self.tables.iter().find_map(|table| {
            let mut files = table.files.iter();
            let (part, path) = files.find(|(_, file)| file.as_path() == path)?;
            Some((table.table.name, part, path))
        })?;
        // The folder of a tenth of the data is inside the folder of the whole data.
        let own = path.parent()?;
        let (folder, tenth) = match self.manifest.ten_percent {
            true => (own.parent()?, " --ten-percent"),
            false => (own, ""),
        };
        Some(format!(
            "remove {} and generate it again: inrush bench etlwr generate {} --part {part} \
             --tables {table}{tenth} --to {}",
            quoted(&path.display().to_string()),
            self.manifest.words(),
            quoted(&folder.display().to_string()),
        ))
    }

    /// The size of each table.
    pub fn sizes(&self) -> Vec<TableSize> {
        let size = |table: &TableFiles| TableSize {
            table: table.table.name,
            files: table.files.len(),
            text_bytes: table.bytes,
        };
        self.tables.iter().map(size).collect()
    }
}

/// The error for parts that none of the tables has.
pub fn no_files() -> WorkloadError {
    WorkloadError::Usage {
        what: "these parts of these tables have no files: nation and region belong to part 1"
            .to_owned(),
        hint: "leave --part out, or choose other --tables".to_owned(),
    }
}

/// The manifest that all folders have in common.
fn common_manifest(folders: &[PathBuf], which: &Selection) -> Result<Manifest, WorkloadError> {
    let mut first: Option<(&Path, Manifest)> = None;
    for folder in folders {
        let Some(manifest) = Manifest::read(folder)? else {
            return Err(WorkloadError::Usage {
                what: format!(
                    "--data: {} has no {MANIFEST}, which declares the scale of its files",
                    folder.display()
                ),
                hint: match which.ten_percent {
                    true => "generate the tenth with `inrush bench etlwr generate --ten-percent`, \
                             with the --scale and --parts of the whole"
                        .to_owned(),
                    false => "generate the files with `inrush bench etlwr generate`; for files of \
                              dbgen itself, write {\"scale\": 1, \"parts\": 4}"
                        .to_owned(),
                },
            });
        };
        match &first {
            None => first = Some((folder, manifest)),
            Some((other, common)) if *common != manifest => {
                return Err(WorkloadError::Usage {
                    what: format!(
                        "--data: {} holds {}, and {} holds {}",
                        other.display(),
                        common.describe(),
                        folder.display(),
                        manifest.describe()
                    ),
                    hint: "give folders of the same scale and parts".to_owned(),
                });
            }
            Some(_) => {}
        }
    }
    match first {
        Some((_, manifest)) => Ok(manifest),
        None => Err(WorkloadError::Usage {
            what: "--data: no folder is given".to_owned(),
            hint: "name the folder of the files".to_owned(),
        }),
    }
}

/// The file with this name. It must not exist in two folders, because it would not be clear which one is meant. The two
/// small tables are the same in all folders.
fn one_of(folders: &[PathBuf], name: &str) -> Result<Option<(PathBuf, u64)>, WorkloadError> {
    let mut found: Option<(PathBuf, u64)> = None;
    for folder in folders {
        let path = folder.join(name);
        match (std::fs::metadata(&path), &found) {
            (Ok(facts), None) => found = Some((path, facts.len())),
            (Ok(_), Some((other, _))) if !["nation.tbl", "region.tbl"].contains(&name) => {
                return Err(WorkloadError::Usage {
                    what: format!(
                        "--data: {} and {} are the same part",
                        other.display(),
                        path.display()
                    ),
                    hint: "remove one of them, or name one folder".to_owned(),
                });
            }
            (Ok(_), Some(_)) => {}
            (Err(error), _) if error.kind() == std::io::ErrorKind::NotFound => {}
            (Err(source), _) => {
                return Err(WorkloadError::File {
                    doing: "cannot read",
                    path,
                    source,
                });
            }
        }
    }
    Ok(found)
}

fn incomplete(
    folders: &[PathBuf],
    missing: &[(u32, String)],
    manifest: &Manifest,
    which: &Selection,
) -> WorkloadError {
    const SHOWN: usize = 4;
    let names: Vec<&str> = missing.iter().map(|(_, name)| name.as_str()).collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    WorkloadError::Usage {
        what: format!(
            "--data: {} {}{more} of {}",
            folders.join(" and "),
            match folders.len() {
                1 => format!("lacks {}", names[..names.len().min(SHOWN)].join(", ")),
                _ => format!("lack {}", names[..names.len().min(SHOWN)].join(", ")),
            },
            manifest.describe()
        ),
        hint: format!(
            "`inrush bench etlwr generate {} --to FOLDER{}{}` generates the missing files, with \
             --part those of one machine",
            manifest.words(),
            which
                .tables
                .as_ref()
                .map_or(String::new(), |tables| format!(" --tables {tables}")),
            if which.ten_percent {
                " --ten-percent"
            } else {
                ""
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use inrush::ExitStatus;

    use super::*;

    fn which(tables: Option<&str>, part: Option<&str>) -> Selection {
        Selection {
            tables: tables.map(str::to_owned),
            part: part.map(str::to_owned),
            ten_percent: false,
        }
    }

    fn folder(manifest: &Manifest, names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        manifest.write(folder.path()).unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        folder
    }

    fn manifest(parts: u32) -> Manifest {
        Manifest {
            scale: 0.5,
            parts,
            ten_percent: false,
        }
    }

    #[test]
    fn parts_of_several_machines_are_one_set() {
        let one = folder(&manifest(2), &["part.tbl.1", "orders.tbl.1", "nation.tbl"]);
        let other = folder(&manifest(2), &["part.tbl.2", "orders.tbl.2", "nation.tbl"]);
        let folders = [one.path().to_owned(), other.path().to_owned()];
        let set = DataSet::find(&folders, &which(Some("orders,part,nation"), None)).unwrap();
        let names: Vec<_> = set.sizes().iter().map(|size| size.table).collect();
        assert_eq!(names, ["nation", "part", "orders"]);
        assert_eq!((set.files(), set.bytes()), (5, 10 + 20 + 24));
        let one_part = DataSet::find(&folders, &which(Some("orders"), Some("2"))).unwrap();
        assert_eq!(
            one_part.tables[0].files[&2],
            other.path().join("orders.tbl.2")
        );
    }

    #[test]
    fn sets_that_are_not_whole_are_refused() {
        let said = |folders: &[&tempfile::TempDir], which: &Selection| {
            let folders: Vec<_> = folders.iter().map(|folder| folder.path().into()).collect();
            let error = DataSet::find(&folders, which).expect_err("it is wrong");
            assert_eq!(error.exit_status(), ExitStatus::Usage);
            error.told()
        };
        let one = folder(&manifest(2), &["part.tbl.1"]);
        let both = folder(&manifest(2), &["part.tbl.1", "part.tbl.2"]);
        let other = folder(&manifest(3), &["part.tbl.2"]);
        let empty = tempfile::tempdir().unwrap();
        let parts = which(Some("part"), None);
        let text = said(&[&one], &parts);
        assert!(
            text.contains("part.tbl.2") && text.contains("--scale 0.5 --parts 2"),
            "{text}"
        );
        assert!(said(&[&one, &both], &parts).contains("the same part"));
        assert!(said(&[&one, &other], &parts).contains("in 3 parts"));
        assert!(said(&[&empty], &parts).contains(MANIFEST));
        assert!(said(&[&both], &which(Some("nation"), Some("2"))).contains("part 1"));
        std::fs::write(empty.path().join(MANIFEST), "{\"scale\": 0, \"parts\": 2}").unwrap();
        assert!(said(&[&empty], &parts).contains("scale 0"));
        std::fs::write(empty.path().join(MANIFEST), "{\"scale\": 1}").unwrap();
        assert!(said(&[&empty], &parts).contains("parts"));
    }

    #[test]
    fn a_file_is_made_anew_by_the_command_that_made_it() {
        let tenth = Manifest {
            ten_percent: true,
            ..manifest(2)
        };
        let folder = tempfile::tempdir().unwrap();
        let own = folder_of(folder.path(), true);
        tenth.write(&own).unwrap();
        for name in ["part.tbl.1", "part.tbl.2"] {
            std::fs::write(own.join(name), name).unwrap();
        }
        let which = Selection {
            ten_percent: true,
            ..which(Some("part"), None)
        };
        let set = DataSet::find(&[folder.path().to_owned()], &which).unwrap();
        let file = own.join("part.tbl.2");
        assert_eq!(
            set.made_anew(&file).unwrap(),
            format!(
                "remove {} and generate it again: inrush bench etlwr generate --scale 5 --parts 2 \
                 --part 2 --tables part --ten-percent --to {}",
                quoted(&file.display().to_string()),
                quoted(&folder.path().display().to_string())
            )
        );
        assert_eq!(set.made_anew(&own.join("orders.tbl.2")), None);
    }
}
