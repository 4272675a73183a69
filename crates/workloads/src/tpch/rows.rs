//! The numbers of rows that dbgen generates, computed without generating them.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush_system::threads::on_threads;
use tpchgen::dates::GenerateUtils;
use tpchgen::generators::{CustomerGenerator, OrderGenerator, PartGenerator, SupplierGenerator};

/// Orders at scale 1.
const ORDERS_AT_SCALE_1: i32 = 1_500_000;

/// Rows of partsupp for each row of part.
const SUPPLIERS_OF_A_PART: i64 = 4;

/// Rows of one part of a table. For `lineitem` dbgen's own random numbers are drawn, because they decide how many lines
/// each order has.
fn rows_of_part(table: &str, scale: f64, parts: u32, part: u32) -> u64 {
    // `Generation::check` has made sure that both are far below the limit of `i32`.
    let (parts, part) = (parts as i32, part as i32);
    let rows = match table {
        "lineitem" => return lines(scale, parts, part),
        "orders" => OrderGenerator::calculate_row_count(scale, part, parts),
        "partsupp" => SUPPLIERS_OF_A_PART * PartGenerator::calculate_row_count(scale, part, parts),
        "part" => PartGenerator::calculate_row_count(scale, part, parts),
        "customer" => CustomerGenerator::calculate_row_count(scale, part, parts),
        "supplier" => SupplierGenerator::calculate_row_count(scale, part, parts),
        "nation" => 25,
        "region" => 5,
        _ => 0,
    };
    u64::try_from(rows).unwrap_or(0)
}

/// Rows of several parts, in order; uses all cores.
pub fn rows_of_parts(table: &str, scale: f64, parts: u32, wanted: &[u32]) -> Vec<u64> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut counts = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = wanted.get(index) else {
                return Ok::<_, Infallible>(counts);
            };
            counts.push((index, rows_of_part(table, scale, parts, *part)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let Ok(mut counts) = on_threads(threads.min(wanted.len()), &work);
    counts.sort_unstable();
    counts.into_iter().map(|(_, rows)| rows).collect()
}

fn lines(scale: f64, parts: i32, part: i32) -> u64 {
    let orders = OrderGenerator::calculate_row_count(scale, part, parts);
    let first = GenerateUtils::calculate_start_index(ORDERS_AT_SCALE_1, scale, part, parts);
    let mut random = OrderGenerator::create_line_count_random();
    random.advance_rows(first);
    let mut rows = 0;
    for _ in 0..orders {
        rows += u64::try_from(random.next_value()).unwrap_or(0);
        random.row_finished();
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::{TABLES, generate_part, parts_of};

    #[test]
    fn they_are_those_that_are_made() {
        for scale in [0.01, 0.0137] {
            for table in TABLES {
                let parts = parts_of(table.name, 3);
                let wanted: Vec<u32> = (1..=parts).collect();
                let counted = rows_of_parts(table.name, scale, parts, &wanted);
                for (part, counted) in wanted.into_iter().zip(counted) {
                    let sink = &mut std::io::sink();
                    let made = generate_part(table.name, scale, parts, part, sink);
                    assert_eq!(counted, made.unwrap(), "{} {part} at {scale}", table.name);
                }
            }
        }
    }

    /// The numbers of the specification's table of sizes for scale 1.
    #[test]
    fn lineitem_at_scale_1() {
        assert_eq!(rows_of_part("lineitem", 1.0, 1, 1), 6_001_215);
    }
}
