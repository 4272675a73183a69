//! Estimates the sizes of TPC-H's files before they are generated.

/// The figures of a table: the average bytes of a row at scale 1; the bytes that each further decimal digit of the
/// scale adds to a row (one for each key of the row); the rows at scale 1; and the bytes in PostgreSQL for each byte of
/// text.
struct Size {
    table: &'static str,
    row_bytes: f64,
    digits_per_decimal: f64,
    rows_at_scale_1: f64,
    stored_per_text: f64,
}

const fn size(
    table: &'static str,
    row_bytes: f64,
    digits_per_decimal: f64,
    rows_at_scale_1: f64,
    stored_per_text: f64,
) -> Size {
    Size {
        table,
        row_bytes,
        digits_per_decimal,
        rows_at_scale_1,
        stored_per_text,
    }
}

/// The sizes of rows are those of dbgen's files at scale 1, divided by their rows. The sizes in PostgreSQL were
/// measured by `inrush bench etlwr` at scale 1.
const SIZES: [Size; 6] = [
    size("lineitem", 126.62, 3.0, 6_001_215.0, 1.32),
    size("orders", 114.63, 2.0, 1_500_000.0, 1.32),
    size("partsupp", 148.73, 2.0, 800_000.0, 1.28),
    size("part", 120.68, 1.0, 200_000.0, 1.51),
    size("customer", 162.31, 1.0, 150_000.0, 1.35),
    size("supplier", 140.92, 1.0, 10_000.0, 1.50),
];

/// The most bytes of the two small tables, and of a file without rows.
const SMALL_BYTES: f64 = 65_536.0;

/// PostgreSQL makes a table longer by up to 64 pages at a time.
const ROOM_AT_THE_END_BYTES: f64 = 524_288.0;

/// The approximate number of bytes of text in a share of a table.
pub fn text_bytes(table: &str, scale: f64, share: f64) -> u64 {
    let Some(size) = SIZES.iter().find(|size| size.table == table) else {
        return SMALL_BYTES as u64;
    };
    let decimals = scale.log10();
    let row_bytes = size.row_bytes + size.digits_per_decimal * decimals;
    (row_bytes * size.rows_at_scale_1 * scale * share) as u64
}

/// The requested files of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSize {
    /// The table.
    pub table: &'static str,
    /// The number of files; each becomes a partition.
    pub files: usize,
    /// Bytes of their text.
    pub text_bytes: u64,
}

impl TableSize {
    /// The approximate number of bytes that PostgreSQL needs for the table.
    pub fn stored_bytes(&self) -> u64 {
        let size = SIZES.iter().find(|size| size.table == self.table);
        let factor = size.map_or(2.0, |size| size.stored_per_text);
        (self.text_bytes as f64 * factor + self.files as f64 * ROOM_AT_THE_END_BYTES) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpch::{TABLES, generate_part};

    /// The files of part 6 of 56 at scale 1000, as the account of 2009 lists them.
    #[test]
    fn they_are_those_of_the_record_run() {
        for (table, bytes) in [
            ("customer", 444_676_242.0),
            ("lineitem", 14_551_494_208.0),
            ("orders", 3_235_968_117.0),
            ("part", 444_959_263.0),
            ("partsupp", 2_216_550_617.0),
            ("supplier", 25_768_892.0),
        ] {
            let estimate = text_bytes(table, 1000.0, 1.0 / 56.0) as f64;
            let ratio = estimate / bytes;
            assert!((0.99..1.01).contains(&ratio), "{table}: {ratio}");
        }
    }

    #[test]
    fn they_are_those_that_are_made() {
        for table in TABLES {
            let mut made = Vec::new();
            generate_part(table.name, 0.01, 1, 1, &mut made).unwrap();
            let estimate = text_bytes(table.name, 0.01, 1.0) as f64;
            let ratio = estimate / made.len() as f64;
            let small = table.partition_by.is_none();
            assert!(
                small || (0.97..1.03).contains(&ratio),
                "{}: {ratio}",
                table.name
            );
            assert!(estimate >= 0.97 * made.len() as f64, "{}", table.name);
        }
    }
}
