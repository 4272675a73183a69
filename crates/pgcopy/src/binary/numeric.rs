//! `numeric` from scaled integers.
//!
//! The binary form (numeric_send, numeric_recv) is four int16s, `ndigits`, `weight`, `sign` and `dscale`, and then
//! `ndigits` int16s, each a digit to base 10000. The first digit counts 10000 to the power of `weight`. The digits are
//! aligned at the decimal point, so a value of scale 2 ends with a digit that is a multiple of 100. `dscale` says how
//! many decimal digits after the point are shown. Zeros at both ends are left out, as the server does; zero itself has
//! no digit, weight 0 and the positive sign.

/// The sign of numbers of zero and above.
pub(super) const SIGN_POSITIVE: u16 = 0x0000;
/// The sign of numbers below zero.
pub(super) const SIGN_NEGATIVE: u16 = 0x4000;
/// The "sign" of NaN.
pub(super) const SIGN_NAN: u16 = 0xC000;
/// The "sign" of infinity.
pub(super) const SIGN_INFINITY: u16 = 0xD000;
/// The "sign" of -infinity.
pub(super) const SIGN_MINUS_INFINITY: u16 = 0xF000;

/// The most digits to base 10000 of a 128-bit integer of any scale: 39 decimal digits make ten, and an eleventh if the
/// point is inside a group.
const WIDE_DIGITS_MAX: usize = 11;

/// The most bytes of a field that comes from a 128-bit integer, including its length word.
pub(super) const DECIMAL_FIELD_BYTES_MAX: usize = 12 + 2 * WIDE_DIGITS_MAX;

/// The layout of all values of a column, by its scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Digits after the point.
    pub(super) scale: u16,
    /// Makes the number of digits after the point a multiple of four.
    pub(super) align_factor: u64,
    /// The largest value that, times `align_factor`, is below 10^16: four digits to base 10000.
    pub(super) quick_max: u64,
    /// The weight of the first of those four digits.
    pub(super) quick_weight: i16,
}

impl Layout {
    /// The layout of values with `scale` digits after the point, 38 at most.
    pub(super) const fn new(scale: u8) -> Layout {
        assert!(scale <= 38);
        let groups_after_point = scale.div_ceil(4);
        let align_factor = 10u64.pow((groups_after_point * 4 - scale) as u32);
        Layout {
            scale: scale as u16,
            align_factor,
            quick_max: (10u64.pow(16) - 1) / align_factor,
            quick_weight: 3 - groups_after_point as i16,
        }
    }
}

/// A whole field of at most four digits, as words that are stored one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickField {
    /// The length word, `ndigits` and `weight`.
    pub(super) head: u64,
    /// `sign` and `dscale`.
    pub(super) tail: u32,
    /// The digits; the bytes after the last digit are not part of the field.
    pub(super) digits: u64,
    /// The number of bytes of the field, including its length word.
    pub(super) field_bytes: usize,
}

/// The fast path: four digits in one word, and no branch that depends on the value. `None` if the value needs more than
/// four digits.
#[inline(always)]
pub(super) fn quick_field(value: i128, layout: &Layout) -> Option<QuickField> {
    let narrow = value as i64;
    let magnitude = narrow.unsigned_abs();
    if i128::from(narrow) != value || magnitude > layout.quick_max {
        return None;
    }
    let aligned = magnitude * layout.align_factor;
    let high = (aligned / 100_000_000) as u32;
    let low = (aligned % 100_000_000) as u32;
    let word = u64::from(high / 10_000) << 48
        | u64::from(high % 10_000) << 32
        | u64::from(low / 10_000) << 16
        | u64::from(low % 10_000);
    // Uses comparisons, because counting leading zero bits is slow in code for the oldest x86-64 processors.
    let zeros_before = u32::from(aligned < 1_000_000_000_000)
        + u32::from(aligned < 100_000_000)
        + u32::from(aligned < 10_000);
    // The bit set here changes the count for zero only. Zero has no digit and weight 0.
    let zeros_behind = (word | 1 << 63).trailing_zeros() / 16;
    let digit_count = 4u32.saturating_sub(zeros_before + zeros_behind);
    let weight = (layout.quick_weight - zeros_before as i16) * i16::from(word != 0);
    let sign = if narrow < 0 {
        SIGN_NEGATIVE
    } else {
        SIGN_POSITIVE
    };
    Some(QuickField {
        head: u64::from(8 + 2 * digit_count) << 32
            | u64::from(digit_count) << 16
            | u64::from(weight as u16),
        tail: u32::from(sign) << 16 | u32::from(layout.scale),
        digits: word << (16 * zeros_before),
        field_bytes: 12 + 2 * digit_count as usize,
    })
}

/// The digits of a `numeric` and the words before them.
#[derive(Clone, Copy, Debug)]
pub(super) struct WideField {
    digits: [u16; WIDE_DIGITS_MAX],
    digit_start: usize,
    digit_end: usize,
    /// The weight of the first digit.
    pub(super) weight: i16,
    /// The sign.
    pub(super) sign: u16,
    /// Digits after the point.
    pub(super) scale: u16,
}

impl WideField {
    /// The digits that are sent.
    pub(super) fn digits(&self) -> &[u16] {
        &self.digits[self.digit_start..self.digit_end]
    }
}

/// The path for any value.
#[inline(never)]
pub(super) fn wide_field(value: i128, layout: &Layout) -> WideField {
    let mut rest = value.unsigned_abs();
    let mut digits = [0u16; WIDE_DIGITS_MAX];
    let mut position = WIDE_DIGITS_MAX;
    // The last digit first: it may have fewer than four of the value's decimal digits. The value itself is not
    // multiplied, because the product may exceed 128 bits.
    if layout.align_factor > 1 {
        let last_digit_unit = u128::from(10_000 / layout.align_factor);
        position -= 1;
        digits[position] = ((rest % last_digit_unit) as u64 * layout.align_factor) as u16;
        rest /= last_digit_unit;
    }
    // 64-bit division is several times as fast as that of 128 bits.
    while rest > u128::from(u64::MAX) {
        let mut four_digits = (rest % 10u128.pow(16)) as u64;
        rest /= 10u128.pow(16);
        for _ in 0..4 {
            position -= 1;
            digits[position] = (four_digits % 10_000) as u16;
            four_digits /= 10_000;
        }
    }
    let mut rest = rest as u64;
    while rest > 0 {
        position -= 1;
        digits[position] = (rest % 10_000) as u16;
        rest /= 10_000;
    }
    // The weight of the digit at `position` if it were the first. The weight of the very last digit is minus the number
    // of groups after the point.
    let weight_of = |position: usize| {
        (WIDE_DIGITS_MAX - 1 - position) as i16 - (layout.scale.div_ceil(4)) as i16
    };
    let Some(digit_start) = digits.iter().position(|&digit| digit != 0) else {
        return WideField {
            digits,
            digit_start: 0,
            digit_end: 0,
            weight: 0,
            sign: SIGN_POSITIVE,
            scale: layout.scale,
        };
    };
    let digit_end = digits
        .iter()
        .rposition(|&digit| digit != 0)
        .map_or(digit_start, |last| last + 1);
    WideField {
        digits,
        digit_start,
        digit_end,
        weight: weight_of(digit_start),
        sign: if value < 0 {
            SIGN_NEGATIVE
        } else {
            SIGN_POSITIVE
        },
        scale: layout.scale,
    }
}
