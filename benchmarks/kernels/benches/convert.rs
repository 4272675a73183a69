//! Measures converting fields of text to Arrow columns, by each kind of instructions. As in a load, each chunk is
//! scanned directly before it is converted, so that it is in the cache.
//!
//! - `column`: the converter of each column of lineitem and of each other type, without the scan; the bytes
//!   are those of the column's fields
//! - `columns`: all columns of lineitem, without the scan
//! - `text to columns`: the same with the scan

#[path = "shared/columns.rs"]
mod columns;
#[path = "shared/cpu_time.rs"]
mod cpu_time;
#[path = "shared/way.rs"]
mod way;

use std::hint::black_box;

use criterion::Criterion;
use inrush_convert::Instructions;
use inrush_kernels::forms::{
    all_quoted, as_it_is, field_bytes, rewritten, text_quoted, with_nulls,
};
use inrush_kernels::{instructions, lineitem, types};
use inrush_rows::chunk::Chunk;
use inrush_rows::column::Column;
use inrush_scan::Dialect;

use cpu_time::{CpuTime, criterion, measure, time};
use way::{Way, chunks, csv};

fn main() {
    let mut criterion = criterion();
    let texts = lineitem::texts(1);
    whole(&mut criterion, &texts);
    columns_of(&mut criterion, &texts, &columns::lineitem());
    columns_of(&mut criterion, &types::texts(2), &columns::other_types());
    criterion.final_summary();
}

/// All columns of lineitem, from text in several forms.
fn whole(criterion: &mut Criterion<CpuTime>, texts: &[String]) {
    let columns = columns::lineitem();
    let nullable = columns::nullable(&columns);
    let (tbl, csv) = (Dialect::tbl(), csv());
    let plain = chunks(texts, str::to_owned);
    let unquoted = chunks(texts, |text| rewritten(text, ",", "\n", as_it_is));
    let some_quoted = chunks(texts, |text| rewritten(text, ",", "\n", text_quoted));
    let quoted = chunks(texts, |text| rewritten(text, ",", "\n", all_quoted));
    let nulls = chunks(texts, |text| with_nulls(text, 3));
    let cases: [(&str, &[Column], &Dialect, &[Chunk]); 6] = [
        ("tbl", &columns, &tbl, &plain),
        ("nullable", &nullable, &tbl, &plain),
        ("nulls", &nullable, &tbl, &nulls),
        ("csv", &columns, &csv, &unquoted),
        ("csv text quoted", &columns, &csv, &some_quoted),
        ("csv all quoted", &columns, &csv, &quoted),
    ];
    // The variants that are compared are measured one after the other.
    let mut group = criterion.benchmark_group("text to columns");
    for available in Instructions::available() {
        let instructions = instructions::name(&available);
        for (name, columns, dialect, chunks) in cases {
            let mut way = Way::new(chunks, dialect, lineitem::FIELDS, columns, available);
            let bytes = way.bytes();
            measure(&mut group, name, instructions, bytes, |iterations| {
                time(iterations, || {
                    way.run(|batch| drop(black_box(batch)));
                })
            });
        }
    }
    group.finish();
    let mut group = criterion.benchmark_group("columns");
    for (name, columns, dialect, chunks) in cases {
        for available in Instructions::available() {
            let mut way = Way::new(chunks, dialect, lineitem::FIELDS, columns, available);
            let (instructions, bytes) = (instructions::name(&available), way.bytes());
            measure(&mut group, name, instructions, bytes, |iterations| {
                (0..iterations)
                    .map(|_| way.run(|batch| drop(black_box(batch))))
                    .sum()
            });
        }
    }
}

/// Each column alone.
fn columns_of(criterion: &mut Criterion<CpuTime>, texts: &[String], columns: &[Column]) {
    let chunks = chunks(texts, str::to_owned);
    let mut group = criterion.benchmark_group("column");
    for (index, column) in columns.iter().enumerate() {
        let bytes = texts.iter().map(|text| field_bytes(text, index)).sum();
        for available in Instructions::available() {
            let mut way = Way::new(
                &chunks,
                &Dialect::tbl(),
                columns.len(),
                std::slice::from_ref(column),
                available,
            );
            let instructions = instructions::name(&available);
            measure(
                &mut group,
                &column.name,
                instructions,
                bytes,
                |iterations| {
                    (0..iterations)
                        .map(|_| way.run(|batch| drop(black_box(batch))))
                        .sum()
                },
            );
        }
    }
}
