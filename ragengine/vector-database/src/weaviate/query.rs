//! Searches and sums, by GraphQL. What a query is made of is written by the module `conditions` and this one.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::body::{Message, shortened};
use super::conditions::{graphql_argument, literal};
use super::{Client, Repeat, Request};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::object::{Found, Order, Search, Sums, check_vector};
use crate::predicate::Predicate;
use crate::property::Property;

/// Without `consistencyLevel`, so that one replica answers. With `QUORUM`, Weaviate 1.35 compares what it found with
/// other replicas, and writes it to those that lack it: only the properties that are asked for here, and no vector.
/// Replicas take such an object for a whole one from then on.
fn graphql(search: &Search<'_>) -> String {
    let mut arguments = vec![format!("limit:{}", search.limit)];
    let mut additional = String::from("id");
    match search.order {
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
    if search.has_vectors {
        additional.push_str(" vector");
    }
    arguments.extend(Some(graphql_argument(search.predicate)).filter(|argument| !argument.is_empty()));
    let properties: Vec<&str> = search.properties.iter().map(|property| property.name()).collect();
    let (class, arguments, properties) = (search.collection.as_str(), arguments.join(","), properties.join(" "));
    format!("{{Get{{{class}({arguments}){{{properties} _additional{{{additional}}}}}}}}}")
}

impl Client {
    /// Searches.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Vector`], [`VectorDatabaseError::Query`], or if Weaviate fails.
    pub async fn search(&self, search: &Search<'_>) -> Result<Vec<Found>, VectorDatabaseError> {
        if search.limit == 0 || *search.predicate == Predicate::Nothing {
            return Ok(Vec::new());
        }
        if let Order::Nearest(vector) = search.order {
            check_vector(vector)?;
        }
        let mut data = self.query(graphql(search)).await?;
        let found = data.get.remove(search.collection.as_str()).unwrap_or_default();
        found.into_iter().map(found_object).collect()
    }

    /// Counts the objects that a condition holds for, and adds up their integers.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Query`], or if Weaviate fails.
    pub async fn sums(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
        properties: &[Property],
    ) -> Result<Sums, VectorDatabaseError> {
        if *predicate == Predicate::Nothing {
            return Ok(Sums::nothing(properties));
        }
        let argument = graphql_argument(predicate);
        let arguments = if argument.is_empty() { argument } else { format!("({argument})") };
        let fields = fields_of_sums(properties);
        let mut data = self.query(format!("{{Aggregate{{{}{arguments}{{{fields}}}}}}}", collection.as_str())).await?;
        let group = data.aggregate.remove(collection.as_str()).and_then(|groups| groups.into_iter().next());
        Ok(sums_of(&group.unwrap_or_default(), properties))
    }

    /// The sums of the objects with each value of a text, for at most `most` values.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::Query`], or if Weaviate fails.
    pub async fn sums_by(
        &self,
        collection: &CollectionName,
        text: Property,
        most: usize,
        properties: &[Property],
    ) -> Result<Vec<(String, Sums)>, VectorDatabaseError> {
        let (arguments, fields) =
            (format!("groupBy:[{}],limit:{most}", literal(text.name())), fields_of_sums(properties));
        let query = format!("{{Aggregate{{{}({arguments}){{groupedBy{{value}} {fields}}}}}}}", collection.as_str());
        let groups = self.query(query).await?.aggregate.remove(collection.as_str()).unwrap_or_default();
        let of_group = |group: &Map<String, Value>| {
            let value = group.get("groupedBy")?.get("value")?.as_str()?.to_owned();
            Some((value, sums_of(group, properties)))
        };
        Ok(groups.iter().filter_map(of_group).collect())
    }

    async fn query(&self, query: String) -> Result<Data, VectorDatabaseError> {
        let request = Request {
            method: reqwest::Method::POST,
            path: &["v1", "graphql"],
            query: &[],
            replicas: None,
            body: Some(json!({"query": query})),
            repeat: Repeat::Yes,
        };
        let reply: Reply = self.read_reply(request).await?;
        match reply.errors.into_iter().flatten().next() {
            Some(error) => Err(VectorDatabaseError::Query(self.redacted(shortened(&error.message)))),
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

fn found_object(mut properties: Map<String, Value>) -> Result<Found, VectorDatabaseError> {
    let additional = properties.remove("_additional").unwrap_or_default();
    let additional: Additional =
        serde_json::from_value(additional).map_err(|error| VectorDatabaseError::Reply(error.to_string()))?;
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
