//! Text like TPC-H's lineitem, in any dialect.

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 512 << 10;

/// A chunk of rows as long and as full of fields as TPC-H's lineitem.
pub fn lineitem(delimiter: &str, end: &str, write: impl Fn(usize, &str) -> String) -> Vec<u8> {
    const WORDS: [&str; 6] = ["furiously", "even", "deposits", "haggle", "slyly", "ironic"];
    let mut text = String::new();
    let mut number = 1u64;
    while text.len() < CHUNK_BYTES {
        number = number
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let random = number >> 33;
        let comment: Vec<_> = (0..2 + random % 5)
            .map(|at| WORDS[((random >> at) % 6) as usize])
            .collect();
        let fields = [
            (random % 6_000_000).to_string(),
            (random % 200_000).to_string(),
            (random % 10_000).to_string(),
            (random % 7).to_string(),
            (random % 50).to_string(),
            format!("{}.{:02}", random % 90_000, random % 100),
            "0.04".to_owned(),
            "0.02".to_owned(),
            "N".to_owned(),
            "O".to_owned(),
            "1996-03-13".to_owned(),
            "1996-02-12".to_owned(),
            "1996-03-22".to_owned(),
            "DELIVER IN PERSON".to_owned(),
            "TRUCK".to_owned(),
            comment.join(" "),
        ];
        let written: Vec<_> = fields
            .iter()
            .enumerate()
            .map(|(at, f)| write(at, f))
            .collect();
        text += &written.join(delimiter);
        text += end;
    }
    text.into_bytes()
}
