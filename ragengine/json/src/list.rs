use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Deserializes a list of at most `max_items` items. Call it in a function for `deserialize_with`.
///
/// # Errors
///
/// The deserializer's error, or an error that names the maximum number of items.
pub fn bounded_list<'de, D, T>(deserializer: D, max_items: usize) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut list = Vec::new();
    let too_long = || D::Error::custom(format_args!("has more than {max_items} items: send them in parts"));
    each_item(deserializer, |item| {
        if list.len() >= max_items {
            return Err(too_long());
        }
        list.push(item);
        Ok(())
    })?;
    Ok(list)
}

/// Deserializes a list without storing it: `take` is called with each item.
///
/// # Errors
///
/// The error of the deserializer or of `take`.
pub fn each_item<'de, D, T>(deserializer: D, take: impl FnMut(T) -> Result<(), D::Error>) -> Result<(), D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    // The visitor cannot return the deserializer's error type, so that `take`'s error is stored here.
    let mut take = take;
    let mut refused = None;
    let visited = deserializer
        .deserialize_seq(Items { take: |item| take(item).map_err(|error| refused = Some(error)), of: PhantomData });
    match refused {
        Some(error) => Err(error),
        None => visited,
    }
}

struct Items<T, F> {
    take: F,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), ()>> Visitor<'de> for Items<T, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            (self.take)(item).map_err(|()| A::Error::custom("refused"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_over_the_limit_is_refused() {
        let read = |text: &str| bounded_list::<_, u8>(&mut serde_json::Deserializer::from_str(text), 2);
        assert_eq!(read("[]").unwrap(), Vec::<u8>::new());
        assert_eq!(read("[1, 2]").unwrap(), vec![1_u8, 2]);
        assert!(read("[1, 2, 3]").unwrap_err().to_string().contains("more than 2 items"));
        assert!(read("[1, 256]").unwrap_err().to_string().contains("256"));
        assert!(read("{}").unwrap_err().to_string().contains("a list"));
    }
}
