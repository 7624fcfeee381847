//! Conditions on objects, as Weaviate's `where`: in GraphQL for searches, and in JSON for deletions.
//!
//! Every text is written as a string literal and every number as a number, so that no text of a user can become a part
//! of a query.

use serde_json::{Value, json};

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

    /// How many conditions Weaviate evaluates.
    pub fn conditions(&self) -> usize {
        match self {
            Self::All(conditions) | Self::Any(conditions) => conditions.iter().map(Self::conditions).sum(),
            Self::Not(condition) => condition.conditions(),
            Self::Everything | Self::Nothing => 0,
            Self::In(..) | Self::Like(..) | Self::Above(..) => 1,
        }
    }

    /// The argument `where` of GraphQL. Empty for [`Self::Everything`]. Nothing must not be asked for.
    pub fn graphql_argument(&self) -> String {
        self.graphql().map_or_else(String::new, |condition| format!("where:{condition}"))
    }

    fn graphql(&self) -> Option<String> {
        let operands = |name: &str, conditions: &[Self]| {
            let operands: Vec<String> = conditions.iter().filter_map(Self::graphql).collect();
            format!("{{operator:{name},operands:[{}]}}", operands.join(","))
        };
        let value = |name: &str, property: &Property, value: String| {
            format!("{{operator:{name},path:[{}],{value}}}", literal(property.name()))
        };
        Some(match self {
            Self::Everything | Self::Nothing => return None,
            Self::All(conditions) => operands("And", conditions),
            Self::Any(conditions) => operands("Or", conditions),
            Self::Not(condition) => operands("Not", std::slice::from_ref(condition)),
            Self::In(property, values) => {
                let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
                value("ContainsAny", property, format!("valueText:[{}]", values.join(",")))
            }
            Self::Like(property, pattern) => value("Like", property, format!("valueText:{}", literal(pattern))),
            Self::Above(property, number) => value("GreaterThan", property, format!("valueNumber:{number:.1}")),
        })
    }

    /// The field `where` of a deletion.
    pub fn json(&self) -> Value {
        let operands = |name: &str, conditions: &[Self]| json!({"operator": name, "operands": conditions.iter().map(Self::json).collect::<Vec<_>>()});
        match self {
            Self::Everything | Self::Nothing => Value::Null,
            Self::All(conditions) => operands("And", conditions),
            Self::Any(conditions) => operands("Or", conditions),
            Self::Not(condition) => operands("Not", std::slice::from_ref(condition)),
            Self::In(property, values) => {
                json!({"operator": "ContainsAny", "path": [property.name()], "valueTextArray": values})
            }
            Self::Like(property, pattern) => {
                json!({"operator": "Like", "path": [property.name()], "valueText": pattern})
            }
            Self::Above(property, number) => {
                json!({"operator": "GreaterThan", "path": [property.name()], "valueNumber": number})
            }
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

/// A text as a string literal of GraphQL. JSON's escapes are a part of GraphQL's.
pub fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert_eq!(Predicate::Everything.graphql_argument(), "");
    }

    #[test]
    fn it_is_written_in_both_ways() {
        let predicate = Predicate::all([
            Predicate::Not(Box::new(is("a\"b"))),
            Predicate::any([
                Predicate::Like(Property::RANGES, "x?1*".into()),
                Predicate::Above(Property::PLACE, 1_764_000_000_000_000.0),
            ]),
        ]);
        assert_eq!(
            predicate.graphql_argument(),
            "where:{operator:And,operands:[{operator:Not,operands:[{operator:ContainsAny,path:[\"tokens\"],\
             valueText:[\"a\\\"b\"]}]},{operator:Or,operands:[{operator:Like,path:[\"ranges\"],valueText:\"x?1*\"},\
             {operator:GreaterThan,path:[\"place\"],valueNumber:1764000000000000.0}]}]}"
        );
        let operands = &predicate.json()["operands"];
        assert_eq!(operands[0]["operands"][0]["valueTextArray"], json!(["a\"b"]));
        assert_eq!(operands[1]["operands"][1]["valueNumber"], json!(1_764_000_000_000_000.0));
        assert_eq!(predicate.conditions(), 3);
    }

    proptest! {
        #[test]
        fn a_text_cannot_leave_its_literal(text in "\\PC*|[\"\\\\{}()\n\r\t\0]*") {
            let written = literal(&text);
            let inner = &written[1..written.len() - 1];
            let mut characters = inner.chars();
            while let Some(character) = characters.next() {
                prop_assert!(character != '"' && character >= ' ');
                if character == '\\' {
                    prop_assert!(characters.next().is_some());
                }
            }
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
