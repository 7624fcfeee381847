//! Values as digits whose order is the order of the values.
//!
//! A digit is 0 to 3. For patterns it is written as three characters that count it: `000`, `100`, `110`, `111`. So one
//! pattern finds all digits above or below another.

use ragengine_pipeline::filter::MetadataValue;

/// The longest text that is compared, in bytes. Longer values are ordered by their beginning, which decides against
/// every bound that is not longer.
pub const MAX_TEXT_BYTES: usize = 32;

/// The digits of the parts of a number.
const FLOAT_DIGITS: u32 = 32;
const REST_DIGITS: u32 = 6;

/// What is added to the rest of a number, so that it is positive.
const REST_OFFSET: i128 = 1 << 11;

/// The digits of an instant in nanoseconds, and what is added so that it is positive.
const INSTANT_DIGITS: u32 = 35;
const INSTANT_OFFSET: i128 = (1 << 39) * 1_000_000_000;

/// A type with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    Number,
    Instant,
    Text,
}

impl Ordered {
    /// The letter of the type.
    pub fn letter(self) -> char {
        match self {
            Self::Number => 'n',
            Self::Instant => 'i',
            Self::Text => 't',
        }
    }
}

/// The type and the digits of a value. None for types without an order.
pub fn of_value(value: &MetadataValue) -> Option<(Ordered, Vec<u8>)> {
    match value {
        MetadataValue::Number(number) => {
            let (float, rest) = number.parts();
            let mut digits = Vec::new();
            push(&mut digits, i128::from(in_order(float)), FLOAT_DIGITS);
            push(&mut digits, rest + REST_OFFSET, REST_DIGITS);
            Some((Ordered::Number, digits))
        }
        MetadataValue::Instant(instant) => {
            let mut digits = Vec::new();
            push(&mut digits, instant.as_nanosecond() + INSTANT_OFFSET, INSTANT_DIGITS);
            Some((Ordered::Instant, digits))
        }
        MetadataValue::Text(text) => Some((Ordered::Text, of_text(text))),
        MetadataValue::Null | MetadataValue::Bool(_) | MetadataValue::Json(_) => None,
    }
}

/// The bits of a float, in its order.
fn in_order(float: f64) -> u64 {
    let bits = float.to_bits();
    if float.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// Adds so many digits of a number, the highest first.
fn push(digits: &mut Vec<u8>, number: i128, count: u32) {
    digits.extend((0..count).rev().map(|place| u8::try_from(number >> (2 * place) & 3).unwrap_or_default()));
}

/// The digits of a text: 1 before each byte, and 0 at the end of a text that is not longer than it may be.
fn of_text(text: &str) -> Vec<u8> {
    let mut digits = Vec::new();
    for byte in text.bytes().take(MAX_TEXT_BYTES) {
        digits.push(1);
        push(&mut digits, i128::from(byte), 4);
    }
    digits.push(u8::from(text.len() > MAX_TEXT_BYTES));
    digits
}

/// Digits as they are written.
pub fn written(digits: &[u8]) -> String {
    digits.iter().map(|digit| ["000", "100", "110", "111"][usize::from(*digit & 3)]).collect()
}

/// Digits in pairs, each pair as one digit of 0 to 15. The order stays, because no value's digits begin another's.
pub fn in_pairs(digits: &[u8]) -> Vec<u8> {
    digits.chunks(2).map(|pair| pair[0] << 2 | pair.get(1).unwrap_or(&0)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-3..3_i8).prop_map(Value::from),
            any::<f64>().prop_filter("JSON", |float| float.is_finite()).prop_map(Value::from),
            ((1_u64 << 53) - 3..(1 << 53) + 5).prop_map(Value::from),
            (u64::MAX - 3000..=u64::MAX).prop_map(Value::from),
            "[ab\0é\u{ffff}]{0,4}".prop_map(Value::from),
            (0..9_u8).prop_map(|hour| json!(format!("2026-11-2{hour}T0{hour}:00:00.5+02:00"))),
        ]
    }

    proptest! {
        #[test]
        fn digits_have_the_order_of_values(one in values(), other in values()) {
            let (one, other) = (MetadataValue::typed(&one), MetadataValue::typed(&other));
            let (left, right) = (of_value(&one).unwrap(), of_value(&other).unwrap());
            if left.0 == right.0 {
                prop_assert_eq!(left.1.cmp(&right.1), one.cmp(&other), "{:?} {:?}", one, other);
                prop_assert_eq!(written(&left.1).cmp(&written(&right.1)), one.cmp(&other));
                let (left, right) = (in_pairs(&left.1), in_pairs(&right.1));
                prop_assert_eq!(left.cmp(&right), one.cmp(&other));
                prop_assert!(left == right || !left.starts_with(&right));
            }
        }
    }

    #[test]
    fn a_long_text_is_ordered_by_its_beginning() {
        let digits = |text: &str| of_value(&MetadataValue::Text(text.to_owned())).unwrap().1;
        let longest = "x".repeat(MAX_TEXT_BYTES);
        assert!(digits(&longest) < digits(&format!("{longest}a")));
        assert_eq!(digits(&format!("{longest}b")), digits(&format!("{longest}a")));
        assert!(digits(&format!("{longest}b")) < digits("y"));
    }
}
