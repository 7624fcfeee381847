//! Conditions as Weaviate's `where`: in GraphQL for searches, and in JSON for deletions.
//!
//! Every text is written as a string literal and every number as a number, so that no text of a user can become a part
//! of a query.

use serde_json::{Value, json};

use crate::predicate::Predicate;
use crate::property::Property;

/// The argument `where` of GraphQL. Empty for [`Predicate::Everything`]. Nothing must not be asked for.
pub fn graphql_argument(predicate: &Predicate) -> String {
    graphql(predicate).map_or_else(String::new, |condition| format!("where:{condition}"))
}

fn graphql(predicate: &Predicate) -> Option<String> {
    let operands = |name: &str, conditions: &[Predicate]| {
        let operands: Vec<String> = conditions.iter().filter_map(graphql).collect();
        format!("{{operator:{name},operands:[{}]}}", operands.join(","))
    };
    let value = |name: &str, property: &Property, value: String| {
        format!("{{operator:{name},path:[{}],{value}}}", literal(property.name()))
    };
    Some(match predicate {
        Predicate::Everything | Predicate::Nothing => return None,
        Predicate::All(conditions) => operands("And", conditions),
        Predicate::Any(conditions) => operands("Or", conditions),
        Predicate::Not(condition) => operands("Not", std::slice::from_ref(condition)),
        Predicate::In(property, values) => {
            let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
            value("ContainsAny", property, format!("valueText:[{}]", values.join(",")))
        }
        Predicate::Like(property, pattern) => value("Like", property, format!("valueText:{}", literal(pattern))),
        Predicate::Above(property, number) => value("GreaterThan", property, format!("valueNumber:{number:.1}")),
    })
}

/// The field `where` of a deletion.
pub fn json(predicate: &Predicate) -> Value {
    let operands = |name: &str, conditions: &[Predicate]| {
        let operands: Vec<Value> = conditions.iter().map(json).collect();
        json!({"operator": name, "operands": operands})
    };
    match predicate {
        Predicate::Everything | Predicate::Nothing => Value::Null,
        Predicate::All(conditions) => operands("And", conditions),
        Predicate::Any(conditions) => operands("Or", conditions),
        Predicate::Not(condition) => operands("Not", std::slice::from_ref(condition)),
        Predicate::In(property, values) => {
            json!({"operator": "ContainsAny", "path": [property.name()], "valueTextArray": values})
        }
        Predicate::Like(property, pattern) => {
            json!({"operator": "Like", "path": [property.name()], "valueText": pattern})
        }
        Predicate::Above(property, number) => {
            json!({"operator": "GreaterThan", "path": [property.name()], "valueNumber": number})
        }
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

    #[test]
    fn it_is_written_in_both_ways() {
        let predicate = Predicate::all([
            Predicate::Not(Box::new(Predicate::is(Property::TOKENS, "a\"b"))),
            Predicate::any([
                Predicate::Like(Property::RANGES, "x?1*".into()),
                Predicate::Above(Property::PLACE, 1_764_000_000_000_000.0),
            ]),
        ]);
        assert_eq!(
            graphql_argument(&predicate),
            "where:{operator:And,operands:[{operator:Not,operands:[{operator:ContainsAny,path:[\"tokens\"],\
             valueText:[\"a\\\"b\"]}]},{operator:Or,operands:[{operator:Like,path:[\"ranges\"],valueText:\"x?1*\"},\
             {operator:GreaterThan,path:[\"place\"],valueNumber:1764000000000000.0}]}]}"
        );
        let operands = &json(&predicate)["operands"];
        assert_eq!(operands[0]["operands"][0]["valueTextArray"], json!(["a\"b"]));
        assert_eq!(operands[1]["operands"][1]["valueNumber"], json!(1_764_000_000_000_000.0));
        assert_eq!(predicate.conditions(), 3);
        assert_eq!(graphql_argument(&Predicate::Everything), "");
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
