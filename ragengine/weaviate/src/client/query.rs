//! Searches and sums, by GraphQL. What a query is made of is written by [`crate::predicate`] and this module.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::body::{Message, shortened};
use super::{Client, Repeat, Request};
use crate::WeaviateError;
use crate::class_name::ClassName;
use crate::predicate::{Predicate, literal};
use crate::property::Property;

/// What is found first.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// The nearest vector, by squared L2 distance.
    Nearest(&'a [f32]),
    /// The best BM25 score of these words, which have spaces between them.
    Words(Property, &'a str),
    /// The least number.
    Least(Property),
    /// Any objects.
    Any,
    /// The least id, after this one. Without a condition, because Weaviate allows none.
    Id(Option<Uuid>),
}

/// A search in a class.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The class.
    pub class: &'a ClassName,
    /// The objects that may be found.
    pub predicate: &'a Predicate,
    /// What is found first.
    pub order: Order<'a>,
    /// The most objects.
    pub limit: usize,
    /// The properties to read.
    pub properties: &'a [Property],
    /// Whether vectors are read.
    pub has_vectors: bool,
    /// Whether objects have several replicas. Others have no consistency.
    pub is_replicated: bool,
}

impl Search<'_> {
    fn graphql(&self) -> String {
        let mut arguments = vec![format!("limit:{}", self.limit)];
        let mut additional = String::from("id");
        match self.order {
            Order::Nearest(vector) => {
                arguments.push(format!("nearVector:{{vector:{}}}", json!(vector)));
                additional.push_str(" distance");
            }
            Order::Words(property, words) => {
                let property = literal(property.name());
                arguments.push(format!("bm25:{{query:{},properties:[{property}]}}", literal(words)));
                additional.push_str(" score");
            }
            Order::Least(property) => {
                arguments.push(format!("sort:[{{path:[{}],order:asc}}]", literal(property.name())));
            }
            Order::Any => {}
            Order::Id(after) => {
                let after = after.map(|id| id.to_string()).unwrap_or_default();
                arguments.push(format!("after:{}", literal(&after)));
            }
        }
        if self.has_vectors {
            additional.push_str(" vector");
        }
        if self.is_replicated {
            arguments.push("consistencyLevel:QUORUM".to_owned());
        }
        arguments.extend(Some(self.predicate.graphql_argument()).filter(|argument| !argument.is_empty()));
        let properties: Vec<&str> = self.properties.iter().map(|property| property.name()).collect();
        let (class, arguments, properties) = (self.class.as_str(), arguments.join(","), properties.join(" "));
        format!("{{Get{{{class}({arguments}){{{properties} _additional{{{additional}}}}}}}}}")
    }
}

/// An object that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Its id.
    pub id: Uuid,
    /// The properties that were asked for.
    pub properties: Map<String, Value>,
    /// The squared L2 distance of its vector, in a search for the nearest.
    pub distance: Option<f32>,
    /// Its BM25 score, in a search by words.
    pub bm25: Option<f32>,
    /// Its vector, if it was asked for.
    pub vector: Vec<f32>,
}

/// How many objects there are, and the sums of their integers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// The number of objects.
    pub count: u64,
    /// The sums, in the order of the properties.
    pub sums: Vec<u64>,
}

impl Client {
    /// Searches.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::Vector`], [`WeaviateError::Query`], or if Weaviate fails.
    pub async fn search(&self, search: &Search<'_>) -> Result<Vec<Found>, WeaviateError> {
        if search.limit == 0 || *search.predicate == Predicate::Nothing {
            return Ok(Vec::new());
        }
        if let Order::Nearest(vector) = search.order
            && (vector.is_empty() || !vector.iter().all(|value| value.is_finite()))
        {
            return Err(WeaviateError::Vector);
        }
        let mut data = self.query(search.graphql()).await?;
        let found = data.get.remove(search.class.as_str()).unwrap_or_default();
        found.into_iter().map(found_object).collect()
    }

    /// Counts the objects that a condition holds for, and adds up their integers.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::Query`], or if Weaviate fails.
    pub async fn sums(
        &self,
        class: &ClassName,
        predicate: &Predicate,
        properties: &[Property],
    ) -> Result<Sums, WeaviateError> {
        if *predicate == Predicate::Nothing {
            return Ok(Sums { count: 0, sums: vec![0; properties.len()] });
        }
        let argument = predicate.graphql_argument();
        let arguments = if argument.is_empty() { argument } else { format!("({argument})") };
        let fields = fields_of_sums(properties);
        let mut data = self.query(format!("{{Aggregate{{{}{arguments}{{{fields}}}}}}}", class.as_str())).await?;
        let group = data.aggregate.remove(class.as_str()).and_then(|groups| groups.into_iter().next());
        Ok(sums_of(&group.unwrap_or_default(), properties))
    }

    /// The sums of the objects with each value of a text, for at most `most` values.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::Query`], or if Weaviate fails.
    pub async fn sums_by(
        &self,
        class: &ClassName,
        text: Property,
        most: usize,
        properties: &[Property],
    ) -> Result<Vec<(String, Sums)>, WeaviateError> {
        let (arguments, fields) =
            (format!("groupBy:[{}],limit:{most}", literal(text.name())), fields_of_sums(properties));
        let query = format!("{{Aggregate{{{}({arguments}){{groupedBy{{value}} {fields}}}}}}}", class.as_str());
        let groups = self.query(query).await?.aggregate.remove(class.as_str()).unwrap_or_default();
        let of_group = |group: &Map<String, Value>| {
            let value = group.get("groupedBy")?.get("value")?.as_str()?.to_owned();
            Some((value, sums_of(group, properties)))
        };
        Ok(groups.iter().filter_map(of_group).collect())
    }

    async fn query(&self, query: String) -> Result<Data, WeaviateError> {
        let request = Request {
            method: reqwest::Method::POST,
            path: &["v1", "graphql"],
            query: &[],
            body: Some(json!({"query": query})),
            repeat: Repeat::Yes,
        };
        let reply: Reply = self.read_reply(request).await?;
        match reply.errors.into_iter().flatten().next() {
            Some(error) => Err(WeaviateError::Query(shortened(&error.message))),
            None => Ok(reply.data.unwrap_or_default()),
        }
    }
}

fn fields_of_sums(properties: &[Property]) -> String {
    let of_properties: String = properties.iter().map(|property| format!(" {}{{sum}}", property.name())).collect();
    format!("meta{{count}}{of_properties}")
}

fn sums_of(group: &Map<String, Value>, properties: &[Property]) -> Sums {
    let number = |property: &str, what: &str| {
        let value = group.get(property).and_then(|of_property| of_property.get(what));
        value.and_then(|value| value.as_u64().or_else(|| whole(value.as_f64()?))).unwrap_or(0)
    };
    let sums = properties.iter().map(|property| number(property.name(), "sum")).collect();
    Sums { count: number("meta", "count"), sums }
}

/// A sum as an integer. Floats up to 2^53 are exact, which is more than the bytes of an index.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of sizes is not negative")]
fn whole(float: f64) -> Option<u64> {
    (float >= 0.0).then_some(float as u64)
}

fn found_object(mut properties: Map<String, Value>) -> Result<Found, WeaviateError> {
    let additional = properties.remove("_additional").unwrap_or_default();
    let additional: Additional =
        serde_json::from_value(additional).map_err(|error| WeaviateError::Reply(error.to_string()))?;
    let bm25 = additional.score.as_deref().and_then(|score| score.parse().ok());
    Ok(Found {
        id: additional.id,
        properties,
        distance: additional.distance,
        bm25,
        vector: additional.vector.unwrap_or_default(),
    })
}

#[derive(Deserialize)]
struct Additional {
    id: Uuid,
    distance: Option<f32>,
    score: Option<String>,
    vector: Option<Vec<f32>>,
}

#[derive(Deserialize)]
struct Reply {
    data: Option<Data>,
    errors: Option<Vec<Message>>,
}

/// The objects of each class.
type OfClasses = HashMap<String, Vec<Map<String, Value>>>;

#[derive(Default, Deserialize)]
struct Data {
    #[serde(rename = "Get", default, deserialize_with = "without_nulls")]
    get: OfClasses,
    #[serde(rename = "Aggregate", default, deserialize_with = "without_nulls")]
    aggregate: OfClasses,
}

/// After an error, a class has null.
fn without_nulls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<OfClasses, D::Error> {
    let classes: Option<HashMap<String, Option<_>>> = Option::deserialize(deserializer)?;
    let of_class = |(class, objects): (String, Option<_>)| (class, objects.unwrap_or_default());
    Ok(classes.unwrap_or_default().into_iter().map(of_class).collect())
}
