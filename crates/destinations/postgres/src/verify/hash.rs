//! PostgreSQL's own hash, as its operator classes compute it with the seed 0.
//!
//! In all its versions, the server has one hash of arbitrary bytes that can be called from SQL: the hash of a record
//! (`hash_record_extended`), which hashes each column by the hash of its type. For bytes that is Bob Jenkins' lookup3
//! (`hash_bytes_extended` in `hashfn.c`). Hash partitioning relies on it, so it does not change. It reads words in the
//! machine's byte order; [`self_test`](super::self_test) compares the server's result with ours before either is used.

/// "set up the internal state": the golden ratio and a constant of the server.
const START: u32 = 0x9e37_79b9_u32.wrapping_add(3_923_095);

/// The hash of any bytes: `hash_bytes_extended(bytes, 0)`.
#[inline]
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    let start = START.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let (whole, rest) = bytes.as_chunks::<12>();
    for part in whole {
        let (words, _) = part.as_chunks::<4>();
        a = a.wrapping_add(u32::from_le_bytes(words[0]));
        b = b.wrapping_add(u32::from_le_bytes(words[1]));
        c = c.wrapping_add(u32::from_le_bytes(words[2]));
        (a, b, c) = mix(a, b, c);
    }
    // "the lowest byte of c is reserved for the length".
    let mut padded = [0_u8; 12];
    padded[..rest.len()].copy_from_slice(rest);
    let (words, _) = padded.as_chunks::<4>();
    a = a.wrapping_add(u32::from_le_bytes(words[0]));
    b = b.wrapping_add(u32::from_le_bytes(words[1]));
    c = c.wrapping_add(u32::from_le_bytes(words[2]) << 8);
    ended(a, b, c)
}

/// The hash of a number of 32 bits: `hash_bytes_uint32_extended(number, 0)`.
#[inline]
pub(super) fn of_u32(number: u32) -> u64 {
    let start = START.wrapping_add(4);
    ended(start.wrapping_add(number), start, start)
}

/// The hash of a row. `before` is the hash of its columns so far, and `column` the hash of the next column. A NULL has
/// the hash 0.
#[inline]
pub(super) fn of_row(before: u64, column: u64) -> u64 {
    before.wrapping_mul(31).wrapping_add(column)
}

/// The hash of a row's hash. A row's hash is a sum over its columns, so sums of these hashes alone would not detect
/// values that were exchanged between rows.
#[inline]
pub(super) fn of_row_hash(hash: u64) -> u64 {
    of_bytes(&hash.to_be_bytes())
}

#[inline]
fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    (a, b, c)
}

#[inline]
fn ended(mut a: u32, mut b: u32, mut c: u32) -> u64 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    u64::from(b) << 32 | u64::from(c)
}

/// The hash of the row for testing a server's hash: bytes of many lengths, a text, a NULL, numbers and a date.
pub fn hash_of_test() -> i64 {
    let bytes: [u8; 16] = std::array::from_fn(|index| index as u8 * 0x11);
    let columns = [
        of_bytes(b""),
        of_bytes(&bytes),
        of_bytes("Gr\u{f6}\u{df}e \u{20ac}".as_bytes()),
        0,
        of_u32(-3_i32 as u32),
        of_u32(7),
        of_u32(1),
        of_u32(1),
    ];
    let row = columns.into_iter().fold(0, of_row);
    of_row_hash(row) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of PostgreSQL 15 and 18.
    #[test]
    fn hashes_are_the_servers() {
        assert_eq!(of_bytes(&[1, 2, 3, 4, 5]) as i64, 465_911_709_181_733_856);
        assert_eq!(of_bytes(b"abc") as i64, -6_747_756_470_228_489_321);
        assert_eq!(of_u32(5) as i64, -9_138_765_687_874_534_020);
        assert_eq!(of_u32(1) as i64, -3_670_598_878_359_251_130);
        assert_eq!(of_u32(0) as i64, 4_154_612_158_245_552_303);
        assert_eq!(of_u32(-3_i32 as u32) as i64, -7_676_986_921_448_237_951);
        let row = [of_u32(1), 0, of_u32(2)].into_iter().fold(0, of_row);
        assert_eq!(row as i64, -469_719_983_062_435_140);
    }
}
