//! A deserializer whose errors do not quote strings, so that they are short.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// Maximum length of a field's name.
const MAX_NAME_BYTES: usize = 1024;

/// Wraps a deserializer. If a string has the wrong type, the error does not quote it; serde's own error would quote all
/// of it, with escapes that can make it six times as long. A name longer than 1,024 bytes is an error.
pub struct Terse<D>(pub D);

/// The role of a string that is read.
#[derive(Clone, Copy, PartialEq)]
enum Text {
    Value,
    Name,
    Wrong,
}

impl<'de, D: Deserializer<'de>> Terse<D> {
    fn read<V: Visitor<'de>>(self, text: Text, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Visited { visitor, text })
    }
}

/// Implements methods for types that are not strings.
macro_rules! not_text {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.read(Text::Wrong, visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Terse<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.read(Text::Value, visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.read(Text::Value, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.read(Text::Value, visitor)
    }

    not_text! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_unit deserialize_seq deserialize_map
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.read(Text::Wrong, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.read(Text::Wrong, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Visited { visitor, text: Text::Value })
    }

    /// `RawValue` is a newtype struct, and is read without changes.
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Visited { visitor, text: Text::Name })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.read(Text::Name, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_ignored_any(visitor)
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit_struct tuple_struct }
}

struct Visited<V> {
    visitor: V,
    text: Text,
}

impl<'de, V: Visitor<'de>> Visited<V> {
    fn check<E: Error>(&self, text: &str) -> Result<(), E> {
        match self.text {
            Text::Value => Ok(()),
            Text::Name if text.len() <= MAX_NAME_BYTES => Ok(()),
            Text::Name => Err(E::custom(format_args!("a name has {} bytes, over {MAX_NAME_BYTES}", text.len()))),
            Text::Wrong => Err(E::invalid_type(Unexpected::Other("string"), &self.visitor)),
        }
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Visited<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.check(text)?;
        self.visitor.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.check(text)?;
        self.visitor.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.check(&text)?;
        self.visitor.visit_string(text)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Terse(deserializer))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Inside(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Inside(fields))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Inside(variant))
    }
}

/// Wraps the access to the elements of a list, an object or a variant.
struct Inside<A>(A);

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Inside<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Seed { seed, text: Text::Value })
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Inside<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(Seed { seed, text: Text::Name })
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Seed { seed, text: Text::Value })
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Inside<A> {
    type Error = A::Error;
    type Variant = A::Variant;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, A::Variant), A::Error> {
        self.0.variant_seed(Seed { seed, text: Text::Name })
    }
}

struct Seed<T> {
    seed: T,
    text: Text,
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        match self.text {
            Text::Name => self.seed.deserialize(TerseName(deserializer)),
            Text::Value | Text::Wrong => self.seed.deserialize(Terse(deserializer)),
        }
    }
}

/// Deserializes a field's name.
struct TerseName<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for TerseName<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Visited { visitor, text: Text::Name })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
