//! Conditions on objects. Each database writes them in its own way.

use crate::property::Property;

/// A condition on objects.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Every object.
    Everything,
    /// No object.
    Nothing,
    /// All of these hold. Not empty.
    All(Vec<Predicate>),
    /// One of these holds. Not empty.
    Any(Vec<Predicate>),
    /// This does not hold.
    Not(Box<Predicate>),
    /// The text, or one of the list, is one of these. Not empty.
    In(Property, Vec<String>),
    /// The text, or one of the list, has this pattern: `?` is any character, and `*` at the end any others.
    Like(Property, String),
    /// The number is more than this one.
    Above(Property, f64),
}

impl Predicate {
    /// All of these hold.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut left = Vec::new();
        for condition in conditions {
            match condition {
                Self::Everything => {}
                Self::Nothing => return Self::Nothing,
                other => left.push(other),
            }
        }
        one_or(left, Self::Everything, Self::All)
    }

    /// One of these holds.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut left = Vec::new();
        for condition in conditions {
            match condition {
                Self::Nothing => {}
                Self::Everything => return Self::Everything,
                other => left.push(other),
            }
        }
        one_or(left, Self::Nothing, Self::Any)
    }

    /// The text, or one of the list, is one of these.
    pub fn is_in(property: Property, values: Vec<String>) -> Self {
        if values.is_empty() { Self::Nothing } else { Self::In(property, values) }
    }

    /// The text, or one of the list, is this.
    pub fn is(property: Property, value: impl Into<String>) -> Self {
        Self::In(property, vec![value.into()])
    }

    /// How many values the conditions ask for.
    pub fn asked(&self) -> usize {
        match self {
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().map(Self::asked).sum(),
            Self::Not(condition) => condition.asked(),
            Self::Everything | Self::Nothing => 0,
            Self::In(_, values) => values.len(),
            Self::Like(..) | Self::Above(..) => 1,
        }
    }

    /// How many conditions there are.
    pub fn conditions(&self) -> usize {
        match self {
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().map(Self::conditions).sum(),
            Self::Not(condition) => condition.conditions(),
            Self::Everything | Self::Nothing => 0,
            Self::In(..) | Self::Like(..) | Self::Above(..) => 1,
        }
    }
}

fn one_or(mut left: Vec<Predicate>, none: Predicate, many: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match left.len() {
        0 => none,
        1 => left.pop().unwrap_or(none),
        _ => many(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(value: &str) -> Predicate {
        Predicate::is(Property::TOKENS, value)
    }

    #[test]
    fn constants_vanish() {
        let nothing = || Predicate::Nothing;
        assert_eq!(Predicate::all([Predicate::Everything, is("a")]), is("a"));
        assert_eq!(Predicate::all([nothing(), is("a")]), nothing());
        assert_eq!(Predicate::any([nothing(), is("a")]), is("a"));
        assert_eq!(Predicate::any([Predicate::Everything, is("a")]), Predicate::Everything);
        assert_eq!((Predicate::all([]), Predicate::any([])), (Predicate::Everything, nothing()));
        assert_eq!(Predicate::is_in(Property::TOKENS, Vec::new()), nothing());
    }
}
