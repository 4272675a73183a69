//! Lines with a field of each type that `lineitem` lacks.

use std::fmt::Write;

use crate::{CHUNK_BYTES, CHUNKS, Random};

/// The kinds of the fields, in order.
pub const NAMES: [&str; 16] = [
    "boolean",
    "smallint",
    "real",
    "double precision",
    "numeric",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "bytea",
    "json",
    "enum",
    "varchar",
    "text",
    "opaque",
];
/// The labels of the enum.
pub const LABELS: [&str; 5] = ["new", "paid", "packed", "shipped", "returned"];

const WORDS: [&str; 8] = [
    "café", "Zürich", "naïve", "plain", "words", "between", "others", "here",
];

/// Chunks of lines, fields ended by `|`.
pub fn texts(seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    (0..CHUNKS)
        .map(|_| {
            let mut text = String::with_capacity(CHUNK_BYTES + 1_000);
            while text.len() < CHUNK_BYTES {
                push_line(&mut text, &mut random)
                    .expect("a string takes everything that is written");
            }
            text
        })
        .collect()
}

fn push_line(text: &mut String, random: &mut Random) -> std::fmt::Result {
    let sign = |random: &mut Random| random.one_of(&["", "-"]);
    write!(text, "{}|", random.one_of(&["t", "f"]))?;
    write!(text, "{}{}|", sign(random), random.below(32_768))?;
    write!(
        text,
        "{}{}.{}|",
        sign(random),
        random.below(1_000),
        random.below(1_000)
    )?;
    // 15 to 17 digits, as programs write computed doubles.
    write!(
        text,
        "{}{}.{:014}|",
        sign(random),
        random.below(1_000),
        random.below(100_000_000_000_000)
    )?;
    // More digits than 128 bits can hold.
    write!(
        text,
        "{}{}{:019}{:019}.{:06}|",
        sign(random),
        random.below(999) + 1,
        random.below(10_000_000_000_000_000_000),
        random.below(10_000_000_000_000_000_000),
        random.below(1_000_000)
    )?;
    push_time(text, random)?;
    text.push('|');
    push_day(text, random)?;
    push_time(text, random)?;
    text.push('|');
    push_day(text, random)?;
    push_time(text, random)?;
    write!(text, "{}|", random.one_of(&["Z", "+00", "+05:30", "-08"]))?;
    write!(text, "{} days ", random.below(400) + 2)?;
    push_time(text, random)?;
    text.push('|');
    let bits = [random.bits(), random.bits()];
    write!(
        text,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}|",
        bits[0] >> 32,
        bits[0] >> 16 & 0xffff,
        bits[0] & 0xffff,
        bits[1] >> 48,
        bits[1] & 0xffff_ffff_ffff
    )?;
    write!(text, "\\x{:016x}{:016x}|", random.bits(), random.bits())?;
    write!(
        text,
        "{{\"id\": {}, \"tags\": [\"{}\", null], \"open\": true}}|",
        random.below(1_000_000),
        random.one_of(&WORDS)
    )?;
    write!(text, "{}|", random.one_of(&LABELS))?;
    // Letters of more than one byte, for which characters must be counted.
    for _ in 0..2 {
        for _ in 0..random.below(4) + 1 {
            write!(text, "{} ", random.one_of(&WORDS))?;
        }
        text.push('|');
    }
    writeln!(text, "10.{}.{}.7|", random.below(256), random.below(256))
}

fn push_day(text: &mut String, random: &mut Random) -> std::fmt::Result {
    let year = 1970 + random.below(60);
    let (month, day) = (random.below(12) + 1, random.below(28) + 1);
    write!(text, "{year}-{month:02}-{day:02} ")
}

fn push_time(text: &mut String, random: &mut Random) -> std::fmt::Result {
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    write!(
        text,
        "{hour:02}:{minute:02}:{second:02}.{:06}",
        random.below(1_000_000)
    )
}
