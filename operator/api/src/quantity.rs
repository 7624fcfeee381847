use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// Syntax of a quantity, as Kubernetes validates it.
const QUANTITY: &str = concat!(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))",
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
);

/// Quantities by resource name (`cpu`, `memory`), as in the `resources` of a container.
///
/// A quantity is a number or a string (`cpu: 1`, `cpu: "1"`). The API server stores the form that the user wrote, so
/// both are accepted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ResourceList(pub BTreeMap<String, Quantity>);

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Amount {
            Number(i64),
            Text(String),
        }
        let amounts = BTreeMap::<String, Amount>::deserialize(deserializer)?;
        let quantity = |amount| match amount {
            Amount::Number(number) => Quantity(number.to_string()),
            Amount::Text(text) => Quantity(text),
        };
        Ok(Self(amounts.into_iter().map(|(name, amount)| (name, quantity(amount))).collect()))
    }
}

impl<const N: usize> From<[(&str, &str); N]> for ResourceList {
    fn from(amounts: [(&str, &str); N]) -> Self {
        Self(amounts.into_iter().map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).collect())
    }
}

impl JsonSchema for ResourceList {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ResourceList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "maxProperties": 16,
            "additionalProperties": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": true,
                "maxLength": 32,
                "pattern": QUANTITY,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ResourceList;

    #[test]
    fn numbers_and_strings_are_read_as_quantities() {
        let list: ResourceList = serde_json::from_str(r#"{"cpu": 2, "memory": "1Gi"}"#).unwrap();
        assert_eq!(list, ResourceList::from([("cpu", "2"), ("memory", "1Gi")]));
        assert_eq!(serde_json::to_string(&list).unwrap(), r#"{"cpu":"2","memory":"1Gi"}"#);
    }
}
