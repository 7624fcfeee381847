//! Metadata filters as conditions of a vector database.
//!
//! Metadata is what users write: any keys, and for each key values of any type, also lists. Vector databases have typed
//! properties that must be declared or indexed, compare numbers as floats, and do not ask whether *one* element of a
//! list is within two bounds. A property for each key would let a user's document change the schema of a cluster. So
//! two lists of texts, which the database does not interpret, answer every filter exactly:
//!
//! - `tokens` has a hash of each key, and one of each key with each value (its type included). `$eq`, `$ne`, `$in`,
//!   `$nin` and `$exists` ask whether it contains one of some hashes. 128 bits of SHA-256 keep them apart.
//! - `ranges` has for each number, instant and text digits whose order is the order of the values (the module
//!   `digits`), together with a hash of its key and its type. So the key, the type and both bounds are asked of one
//!   element. How depends on what the database can ask ([`Comparisons`]):
//!   - Weaviate has patterns. A value is one text, and a comparison becomes one `Like` with a prefix for each digit of
//!     the bound: at most 38 for a number, 35 for a date and five for each byte of a text.
//!   - Qdrant knows only whether values are equal. A value has a hash for each beginning of its digits: 20 for a
//!     number, 19 for a date and up to three for each byte of a text. A comparison asks for up to 15 for each digit.
//!
//! `$and`, `$or` and `$not` are the database's. Nothing is filtered after a search, so that no search looks further
//! than it must. The price is bounded: a document has at most [`MAX_VALUES`] values, a filter becomes at most
//! [`MAX_CONDITIONS`] conditions, and a text is compared with at most 32 bytes. What is more is an error, and FAISS has
//! none of these bounds.

mod comparisons;
mod digits;
mod spans;
mod tokens;

use ragengine_pipeline::filter::{Condition, Filter};

use crate::VectorDatabaseError;
use crate::predicate::Predicate;
use crate::property::Property;

pub use comparisons::Comparisons;
pub use tokens::{Searchable, of_metadata, of_source};

/// The most values in the metadata of a document, an element of a list counting as one.
pub const MAX_VALUES: usize = 256;

/// The most hashes that the values of a document may have for comparisons. Each chunk of it has all of them.
pub const MAX_HASHES: usize = 4_096;

/// The most conditions that a filter may become. Weaviate needs about half a millisecond for each.
pub const MAX_CONDITIONS: usize = 1_000;

/// The most values that the conditions of a filter may ask for.
pub const MAX_ASKED: usize = 10_000;

/// The condition on objects that a filter is.
///
/// # Errors
///
/// [`VectorDatabaseError::LongComparison`] or [`VectorDatabaseError::ManyConditions`].
pub fn predicate(filter: &Filter, comparisons: Comparisons) -> Result<Predicate, VectorDatabaseError> {
    let predicate =
        filter.condition().map_or(Ok(Predicate::Everything), |condition| of_condition(condition, comparisons))?;
    let counts = [(predicate.conditions(), MAX_CONDITIONS), (predicate.asked(), MAX_ASKED)];
    match counts.into_iter().find(|(conditions, most)| conditions > most) {
        Some((conditions, most)) => Err(VectorDatabaseError::ManyConditions { conditions, most }),
        None => Ok(predicate),
    }
}

fn of_condition(condition: &Condition, comparisons: Comparisons) -> Result<Predicate, VectorDatabaseError> {
    let each = |conditions: &[Condition]| {
        conditions.iter().map(|each| of_condition(each, comparisons)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match condition {
        Condition::All(conditions) => Predicate::all(each(conditions)?),
        Condition::Any(conditions) => Predicate::any(each(conditions)?),
        Condition::Not(condition) => match of_condition(condition, comparisons)? {
            Predicate::Everything => Predicate::Nothing,
            Predicate::Nothing => Predicate::Everything,
            other => Predicate::all([
                // A positive condition first, so that deleted objects cannot count.
                Predicate::is(Property::TOKENS, tokens::of_every_object()),
                Predicate::Not(Box::new(other)),
            ]),
        },
        Condition::Exists(key) => Predicate::is(Property::TOKENS, tokens::of_key(key)),
        Condition::In(key, values) => {
            let tokens = values.iter().map(|value| tokens::of_value(key, value)).collect();
            Predicate::is_in(Property::TOKENS, tokens)
        }
        Condition::Within(key, bounds) => comparisons.within(key, bounds)?,
    })
}

#[cfg(test)]
mod tests;
