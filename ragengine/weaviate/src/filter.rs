//! Metadata filters as conditions of Weaviate.
//!
//! Metadata is what users write: any keys, and for each key values of any type, also lists. Weaviate has typed
//! properties that must be declared, compares numbers as floats, and cannot ask whether *one* element of a list is
//! within two bounds. A property for each key would let a user's document change the schema of a cluster. So two lists
//! of texts, which Weaviate does not interpret, answer every filter exactly:
//!
//! - `tokens` has a hash of each key, and one of each key with each value (its type included). `$eq`, `$ne`, `$in`,
//!   `$nin` and `$exists` ask whether it contains one of some hashes. 128 bits of SHA-256 keep them apart.
//! - `ranges` has for each number, instant and text the hash of its key, its type, and digits whose order is the order
//!   of the values (the module `digits`). A comparison becomes one `Like` with a prefix for each digit of the bound: at
//!   most 38 for a number, 35 for a date and five for each byte of a text. So the key, the type and both bounds are in one
//!   pattern, and it is one element that matches.
//!
//! `$and`, `$or` and `$not` are Weaviate's. Nothing is filtered after a search, so that no search looks further than it
//! must. The price is bounded: a document has at most [`MAX_VALUES`] values, a filter becomes at most
//! [`MAX_CONDITIONS`] conditions, and a text is compared with at most 32 bytes. What is more is
//! an error, and FAISS has none of these bounds.

mod digits;
mod patterns;
mod tokens;

use ragengine_pipeline::filter::{Condition, Filter};

use crate::WeaviateError;
use crate::predicate::Predicate;
use crate::property::Property;

pub use tokens::{Searchable, of_metadata, of_source};

/// The most values in the metadata of a document, an element of a list counting as one.
pub const MAX_VALUES: usize = 256;

/// The most conditions that a filter may become. Weaviate needs about half a millisecond for each.
pub const MAX_CONDITIONS: usize = 1_000;

/// The condition on objects that a filter is.
///
/// # Errors
///
/// [`WeaviateError::LongComparison`] or [`WeaviateError::ManyConditions`].
pub fn predicate(filter: &Filter) -> Result<Predicate, WeaviateError> {
    let predicate = filter.condition().map_or(Ok(Predicate::Everything), of_condition)?;
    match predicate.conditions() {
        conditions if conditions > MAX_CONDITIONS => {
            Err(WeaviateError::ManyConditions { conditions, most: MAX_CONDITIONS })
        }
        _ => Ok(predicate),
    }
}

fn of_condition(condition: &Condition) -> Result<Predicate, WeaviateError> {
    let each = |conditions: &[Condition]| conditions.iter().map(of_condition).collect::<Result<Vec<_>, _>>();
    Ok(match condition {
        Condition::All(conditions) => Predicate::all(each(conditions)?),
        Condition::Any(conditions) => Predicate::any(each(conditions)?),
        Condition::Not(condition) => match of_condition(condition)? {
            Predicate::Everything => Predicate::Nothing,
            Predicate::Nothing => Predicate::Everything,
            other => Predicate::all([
                // A positive condition first, so that deleted objects cannot count.
                Predicate::is(Property::TOKENS, tokens::EVERY_OBJECT),
                Predicate::Not(Box::new(other)),
            ]),
        },
        Condition::Exists(key) => Predicate::is(Property::TOKENS, tokens::of_key(key)),
        Condition::In(key, values) => {
            let tokens = values.iter().map(|value| tokens::of_value(key, value)).collect();
            Predicate::is_in(Property::TOKENS, tokens)
        }
        Condition::Within(key, bounds) => patterns::within(key, bounds)?,
    })
}

#[cfg(test)]
mod tests;
