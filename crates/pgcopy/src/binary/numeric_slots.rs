//! `numeric` fields made before their rows are written, eight at a time.
//!
//! A field that [`super::numeric::quick_field`] makes while its row is written costs as much as three integers. If
//! fields are made column by column for a few rows, in slots of one size, eight fields need as many instructions as
//! one, and a row copies its field with one load and one store.

/// The number of rows whose fields are made before these rows are written. It is small enough that the slots of many
/// columns stay in the first-level cache.
pub(super) const TILE_ROWS: usize = 64;

/// The bytes of a field of at most four digits, or a mark that the value needs another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(super) struct Slot {
    /// The field; bytes after its end are not part of it.
    pub(super) field: [u8; 24],
    /// The number of bytes of the field, including its length word; 0 if the value needs more digits.
    pub(super) field_bytes: u64,
}

impl Slot {
    /// A slot without a field.
    pub(super) const EMPTY: Slot = Slot {
        field: [0; 24],
        field_bytes: 0,
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::*;

    use super::Slot;
    use crate::binary::avx512::{load_numbers, store_slots};
    use crate::binary::numeric::{Layout, SIGN_NEGATIVE};

    /// Makes the fields of `values` in `slots`.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512ifma,avx512vl")]
    pub(in crate::binary) fn fill(values: &[i128], layout: &Layout, slots: &mut [Slot]) {
        let (values, values_rest) = values.as_chunks::<8>();
        let (slots, slots_rest) = slots.as_chunks_mut::<8>();
        for (values, slots) in values.iter().zip(slots) {
            fill_eight(values, layout, slots);
        }
        if !values_rest.is_empty() {
            let mut values = [0; 8];
            values[..values_rest.len()].copy_from_slice(values_rest);
            let mut slots = [Slot::EMPTY; 8];
            fill_eight(&values, layout, &mut slots);
            slots_rest[..values_rest.len()].copy_from_slice(&slots[..values_rest.len()]);
        }
    }

    /// Like `quick_field`, for eight values. The variables have the same names.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512ifma,avx512vl")]
    fn fill_eight(values: &[i128; 8], layout: &Layout, slots: &mut [Slot; 8]) {
        let (first, second) = load_numbers(values);
        // The lower and the upper halves of the values 0, 4, 1, 5, 2, 6, 3 and 7: the order in
        // which the last step needs them.
        let narrow = _mm512_unpacklo_epi64(first, second);
        let upper = _mm512_unpackhi_epi64(first, second);
        let all = |word: i64| _mm512_set1_epi64(word);
        let fits_64_bits = _mm512_cmpeq_epi64_mask(upper, _mm512_srai_epi64::<63>(narrow));
        let magnitude = _mm512_abs_epi64(narrow);
        let is_quick =
            _mm512_mask_cmple_epu64_mask(fits_64_bits, magnitude, all(layout.quick_max as i64));
        let aligned = _mm512_mullo_epi64(magnitude, all(layout.align_factor as i64));

        // 10^8 is 2^8 times 390,625, and `aligned` is below 10^16, so that without its last 8
        // bits it is below 2^46. The reciprocal is 2^70 / 390,625, rounded up by less than one, so the computed
        // quotient is too large by less than 2^46 / 2^70. Its whole part is exact, because the true quotient is at
        // least 1 / 390,625 below the next whole number. Both factors have 52 bits at most.
        const RECIPROCAL: i64 = ((1u128 << 70).div_ceil(390_625)) as i64;
        let high = _mm512_srli_epi64::<18>(_mm512_madd52hi_epu64(
            _mm512_setzero_si512(),
            _mm512_srli_epi64::<8>(aligned),
            all(RECIPROCAL),
        ));
        let low = _mm512_sub_epi64(aligned, _mm512_mul_epu32(high, all(100_000_000)));
        // Splits each number into two digits. This multiplication divides every 32-bit number by 10,000 exactly.
        let digit_pair = |eight_digits: __m512i| {
            let upper = _mm512_srli_epi64::<45>(_mm512_mul_epu32(
                eight_digits,
                all((1i64 << 45) / 10_000 + 1),
            ));
            let lower = _mm512_sub_epi64(eight_digits, _mm512_mul_epu32(upper, all(10_000)));
            _mm512_or_si512(_mm512_slli_epi64::<16>(upper), lower)
        };
        let word = _mm512_or_si512(_mm512_slli_epi64::<32>(digit_pair(high)), digit_pair(low));

        let zeros_before = _mm512_srli_epi64::<4>(_mm512_lzcnt_epi64(word));
        let with_end = _mm512_or_si512(word, all(i64::MIN));
        let last_bit = _mm512_and_si512(with_end, _mm512_sub_epi64(all(0), with_end));
        let bits_behind = _mm512_sub_epi64(all(63), _mm512_lzcnt_epi64(last_bit));
        let zeros_behind = _mm512_srli_epi64::<4>(bits_behind);
        let digit_count = _mm512_subs_epu16(all(4), _mm512_add_epi64(zeros_before, zeros_behind));
        let weight = _mm512_maskz_sub_epi64(
            _mm512_test_epi64_mask(word, word),
            all(i64::from(layout.quick_weight)),
            zeros_before,
        );
        let double_count = _mm512_add_epi64(digit_count, digit_count);
        let head = _mm512_or_si512(
            _mm512_slli_epi64::<32>(_mm512_add_epi64(double_count, all(8))),
            _mm512_or_si512(
                _mm512_slli_epi64::<16>(digit_count),
                _mm512_and_si512(weight, all(0xffff)),
            ),
        );
        let digits = _mm512_sllv_epi64(word, _mm512_slli_epi64::<4>(zeros_before));
        let field_bytes = _mm512_maskz_add_epi64(is_quick, double_count, all(12));

        // The bytes of each word in the order of the wire.
        let reversed = _mm512_set_epi64(
            0x0809_0a0b_0c0d_0e0f,
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
            0x0001_0203_0405_0607,
        );
        let head = _mm512_shuffle_epi8(head, reversed);
        let digits = _mm512_shuffle_epi8(digits, reversed);
        // `sign` and `dscale`: of the sign only the bit of SIGN_NEGATIVE may be set.
        let tail = i64::from(u32::from(layout.scale).swap_bytes());
        let negative = i64::from((u32::from(SIGN_NEGATIVE) << 16).swap_bytes());
        let is_negative = _mm512_movepi64_mask(narrow);
        let tail = _mm512_mask_or_epi64(all(tail), is_negative, all(tail), all(negative));
        let middle = _mm512_or_si512(tail, _mm512_slli_epi64::<32>(digits));
        let end = _mm512_srli_epi64::<32>(digits);

        // Puts the four words of each value side by side: first pairs of words, for the values 0, 1, 2 and 3, and for
        // 4, 5, 6 and 7; then two pairs each.
        let (heads_0, heads_4) = (
            _mm512_unpacklo_epi64(head, middle),
            _mm512_unpackhi_epi64(head, middle),
        );
        let (ends_0, ends_4) = (
            _mm512_unpacklo_epi64(end, field_bytes),
            _mm512_unpackhi_epi64(end, field_bytes),
        );
        let front = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
        let back = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
        let made = [
            _mm512_permutex2var_epi64(heads_0, front, ends_0),
            _mm512_permutex2var_epi64(heads_0, back, ends_0),
            _mm512_permutex2var_epi64(heads_4, front, ends_4),
            _mm512_permutex2var_epi64(heads_4, back, ends_4),
        ];
        store_slots(made, slots);
    }

    #[cfg(test)]
    mod tests {
        use proptest::prelude::*;

        use super::*;
        use crate::binary::instruction_set::InstructionSet;
        use crate::binary::numeric::quick_field;

        fn expected(value: i128, layout: &Layout) -> Option<Vec<u8>> {
            let field = quick_field(value, layout)?;
            let mut bytes = field.head.to_be_bytes().to_vec();
            bytes.extend(field.tail.to_be_bytes());
            bytes.extend(field.digits.to_be_bytes());
            bytes.truncate(field.field_bytes);
            Some(bytes)
        }

        fn check(values: &[i128], scale: u8) {
            let Some(proof) = InstructionSet::best().avx512() else {
                return;
            };
            let layout = Layout::new(scale);
            let mut slots = vec![Slot::EMPTY; values.len()];
            crate::binary::avx512::fill(proof, values, &layout, &mut slots);
            for (value, slot) in values.iter().zip(&slots) {
                let field_bytes = slot.field_bytes as usize;
                let found = (field_bytes > 0).then(|| slot.field[..field_bytes].to_vec());
                assert_eq!(found, expected(*value, &layout), "{value} of scale {scale}");
            }
        }

        #[test]
        fn values_at_the_ends_of_their_digits() {
            for scale in 0..=38 {
                let mut values = vec![0, i128::MIN, i128::MAX, i64::MIN.into(), i64::MAX.into()];
                for power in 0..=38 {
                    let unit = 10i128.pow(power);
                    values.extend([unit - 1, unit, unit + 1, 1 - unit, -unit, -1 - unit]);
                    values.extend([(unit / 2).wrapping_mul(5), unit / 9, 9999 * (unit / 10_000)]);
                }
                for shift in 0..127 {
                    values.extend([1 << shift, (1 << shift) - 1, -(1 << shift)]);
                }
                for count in [values.len(), 1, 7, 8, 9] {
                    check(&values[..count], scale);
                }
                // Each multiple of 10^8, and the numbers directly before and after it.
                for high in [
                    1, 2, 390_624, 390_625, 390_626, 50_000_000, 99_999_998, 99_999_999,
                ] {
                    let multiple = high * 100_000_000;
                    check(&[multiple - 1, multiple, multiple + 1], scale);
                }
            }
        }

        proptest! {
            #[test]
            fn as_its_twin(
                values in proptest::collection::vec((any::<i128>(), 0u32..128), 0..40),
                scale in 0u8..=38,
            ) {
                let values: Vec<i128> =
                    values.into_iter().map(|(value, shift)| value >> shift).collect();
                check(&values, scale);
            }
        }
    }
}
