//! The four things that the workload of 2009 left out of ETL: rows are reformatted, checked and completed by lookups,
//! and each row gets columns that say where it comes from. The steps are the same at any scale, and no row of dbgen
//! fails them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inrush::package::{
    ColumnDetail, ColumnSpec, Format, LookupSource, OneOrMany, Preset, REFERENCE_BYTES_MAX,
    SourceWord, Step,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::generating::Job;
use super::package::literal;
use super::selection::Selection;
use crate::error::WorkloadError;
use crate::tpch::{Table, file_name, parts_of, rows_of_parts, table};

/// The folder of the references, in the folder of the files.
const FOLDER: &str = "references";

/// Bytes of memory for a row of a reference: more than the lookup counts for it.
const REFERENCE_ROW_BYTES: u64 = 128;

/// The tables in which keys are looked up, each in one file of dbgen.
#[derive(Clone, Debug)]
pub struct References {
    folder: PathBuf,
    scale: f64,
}

/// The steps of a table's rows, in words.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableSteps {
    /// The table.
    pub table: String,
    /// Derived columns, each with its expression.
    pub derive: BTreeMap<String, String>,
    /// A condition that all rows fulfil.
    pub check: String,
    /// The key that is looked up, and the table in which; absent if the table has no lookup.
    pub lookup: Option<String>,
    /// Columns of each row that say where it comes from.
    pub lineage: Vec<String>,
}

/// The steps of a table.
struct Transforms {
    derive: &'static [(&'static str, &'static str)],
    check: &'static str,
    lookup: Option<Lookup>,
}

/// A key that is looked up.
struct Lookup {
    key: &'static str,
    table: &'static str,
    table_key: &'static str,
    /// The new column.
    adds: &'static str,
    /// The column of the reference that fills it.
    takes: &'static str,
}

/// Columns of each row that say where it comes from.
const LINEAGE: [(&str, &str, SourceWord); 3] = [
    ("loaded_by_run", "bigint", SourceWord::Run),
    ("source_file", "text", SourceWord::File),
    ("source_line", "bigint", SourceWord::Line),
];

const fn of_nation(key: &'static str) -> Option<Lookup> {
    Some(Lookup {
        key,
        table: "nation",
        table_key: "n_nationkey",
        adds: "nation",
        takes: "n_name",
    })
}

const fn of_supplier(key: &'static str) -> Option<Lookup> {
    Some(Lookup {
        key,
        table: "supplier",
        table_key: "s_suppkey",
        adds: "supplier_nation",
        takes: "s_nationkey",
    })
}

/// The steps of a table of the workload.
fn transforms(table: &Table) -> Option<Transforms> {
    Some(match table.name {
        "lineitem" => Transforms {
            derive: &[
                ("revenue", "l_extendedprice * (1 - l_discount)"),
                ("ship_month", "date_trunc('month', l_shipdate)::DATE"),
            ],
            check: "l_receiptdate > l_shipdate",
            lookup: of_supplier("l_suppkey"),
        },
        "orders" => Transforms {
            derive: &[
                ("order_year", "year(o_orderdate)::INTEGER"),
                ("urgency", "left(o_orderpriority, 1)::SMALLINT"),
            ],
            check: "o_totalprice > 0",
            lookup: None,
        },
        "partsupp" => Transforms {
            derive: &[("stock_value", "ps_availqty * ps_supplycost")],
            check: "ps_availqty > 0",
            lookup: of_supplier("ps_suppkey"),
        },
        "part" => Transforms {
            derive: &[("brand", "trim(p_brand)"), ("kind", "lower(p_type)")],
            check: "p_retailprice > 0",
            lookup: None,
        },
        "customer" => Transforms {
            derive: &[("country_code", "left(c_phone, 2)::SMALLINT")],
            check: "c_acctbal >= -1000",
            lookup: of_nation("c_nationkey"),
        },
        "supplier" => Transforms {
            derive: &[("country_code", "left(s_phone, 2)::SMALLINT")],
            check: "s_acctbal >= -1000",
            lookup: of_nation("s_nationkey"),
        },
        _ => return None,
    })
}

/// The steps of these tables, in words.
pub fn described<'a>(tables: impl Iterator<Item = &'a Table>) -> Vec<TableSteps> {
    let described = tables.filter_map(|table| {
        let transforms = transforms(table)?;
        Some(TableSteps {
            table: table.name.to_owned(),
            derive: owned(transforms.derive),
            check: transforms.check.to_owned(),
            lookup: transforms
                .lookup
                .map(|lookup| format!("{} in {}", lookup.key, lookup.table)),
            lineage: LINEAGE.map(|(name, ..)| name.to_owned()).to_vec(),
        })
    });
    described.collect()
}

fn owned(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

impl References {
    /// The job that generates the references of files with this scale, which are in this folder.
    pub fn job(folder: &Path, scale: f64, threads: usize) -> Result<Job, WorkloadError> {
        let both = Selection {
            tables: Some("nation,supplier".to_owned()),
            part: None,
            ten_percent: false,
        };
        Job::new(&folder.join(FOLDER), scale, 1, &both, threads)
    }

    /// The references that a job has generated.
    pub fn of(job: &Job) -> References {
        let folder = job.folder();
        References {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            scale: job.manifest().scale,
        }
    }

    /// The columns of lineage of a table; none if its rows go through no steps.
    pub(super) fn lineage_columns(table: &Table) -> Vec<ColumnSpec> {
        let column = |(name, type_name, source): (&str, &str, SourceWord)| {
            ColumnSpec::Long(Box::new(ColumnDetail {
                type_name: Some(type_name.to_owned()),
                source: Some(source),
                ..ColumnDetail::named(name)
            }))
        };
        match transforms(table) {
            Some(_) => LINEAGE.map(column).to_vec(),
            None => Vec::new(),
        }
    }

    /// The steps of a table.
    pub(super) fn steps(&self, table: &Table) -> Vec<Step> {
        let Some(transforms) = transforms(table) else {
            return Vec::new();
        };
        let mut steps = vec![
            Step {
                derive: Some(owned(transforms.derive)),
                ..Step::default()
            },
            Step {
                check: Some(transforms.check.to_owned()),
                ..Step::default()
            },
        ];
        if let Some(lookup) = &transforms.lookup {
            steps.push(Step {
                lookup: Some(Box::new(self.source(lookup.table))),
                on: Some(owned(&[(lookup.key, lookup.table_key)])),
                take: Some(owned(&[(lookup.adds, lookup.takes)])),
                ..Step::default()
            });
        }
        steps
    }

    fn source(&self, name: &str) -> LookupSource {
        let columns = table(name).map_or(&[][..], |table| table.columns).iter();
        let path = self.folder.join(file_name(name, parts_of(name, 1), 1));
        let rows = rows_of_parts(name, self.scale, 1, &[1])
            .into_iter()
            .sum::<u64>();
        let needed = rows * REFERENCE_ROW_BYTES;
        LookupSource {
            files: OneOrMany::One(literal(&path)),
            format: Format {
                preset: Some(Preset::Tbl),
                ..Format::default()
            },
            columns: columns
                .map(|(name, kind)| ColumnSpec::Short(format!("{name} {kind}")))
                .collect(),
            memory_bytes_max: (needed > REFERENCE_BYTES_MAX).then_some(needed),
            ..LookupSource::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::TABLES;

    #[test]
    fn keys_and_taken_columns_exist() {
        for table in &TABLES {
            let Some(Transforms { lookup, .. }) = transforms(table) else {
                continue;
            };
            let has = |table: &Table, column: &str| {
                assert!(
                    table.columns.iter().any(|(name, _)| *name == column),
                    "{column}"
                );
            };
            if let Some(lookup) = lookup {
                has(table, lookup.key);
                let reference = super::table(lookup.table).expect("a table");
                has(reference, lookup.table_key);
                has(reference, lookup.takes);
            }
        }
        assert_eq!(described(TABLES.iter()).len(), 6);
    }

    #[test]
    fn a_reference_may_take_the_memory_that_it_needs() {
        let references = |scale| References {
            folder: "x".into(),
            scale,
        };
        let memory = |scale, table| references(scale).source(table).memory_bytes_max;
        assert_eq!(memory(1.0, "supplier"), None);
        assert_eq!(memory(1000.0, "supplier"), Some(1_280_000_000));
        assert_eq!(memory(1000.0, "nation"), None);
    }
}
