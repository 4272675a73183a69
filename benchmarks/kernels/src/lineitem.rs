//! Lines with the same shapes and widths as TPC-H's `lineitem`.

use std::fmt::Write;

use crate::{CHUNK_BYTES, CHUNKS, Random};

/// The number of fields in a line.
pub const FIELDS: usize = 16;
/// The fields of text; the others are numbers and days.
pub const TEXT_FIELDS: [usize; 5] = [8, 9, 13, 14, 15];

const INSTRUCTIONS: [&str; 4] = [
    "DELIVER IN PERSON",
    "COLLECT COD",
    "NONE",
    "TAKE BACK RETURN",
];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const WORDS: &str = "egular courts above the carefully final packages sleep furiously \
                     among the quickly ironic deposits about the blithely express ideas";

/// Lines as from dbgen, in chunks of whole lines: `|` ends each field, and no field contains a comma or a quote.
pub fn texts(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut order = 0;
    (0..CHUNKS)
        .map(|_| {
            let mut text = String::with_capacity(CHUNK_BYTES + 2_000);
            while text.len() < CHUNK_BYTES {
                order += 1;
                push_order(&mut text, order * 4, &mut random)
                    .expect("a string takes everything that is written");
            }
            text
        })
        .collect()
}

/// Writes the lines of an order.
fn push_order(text: &mut String, order: u64, random: &mut Random) -> std::fmt::Result {
    for line in 1..=random.below(7) + 1 {
        let price = random.below(10_000_000) + 90_000;
        write!(
            text,
            "{order}|{}|{}|{line}|{}|{}.{:02}|0.{:02}|0.{:02}|{}|{}|",
            random.below(200_000) + 1,
            random.below(10_000) + 1,
            random.below(50) + 1,
            price / 100,
            price % 100,
            random.below(11),
            random.below(9),
            random.one_of(&["R", "A", "N"]),
            random.one_of(&["O", "F"]),
        )?;
        for _ in 0..3 {
            let year = 1992 + random.below(7);
            let (month, day) = (random.below(12) + 1, random.below(28) + 1);
            write!(text, "{year}-{month:02}-{day:02}|")?;
        }
        let begin = random.below(80) as usize;
        let length = random.below(34) as usize + 10;
        writeln!(
            text,
            "{}|{}|{}|",
            random.one_of(&INSTRUCTIONS),
            random.one_of(&MODES),
            &WORDS[begin..begin + length],
        )?;
    }
    Ok(())
}
