//! Classes: Weaviate's collections.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Client, Repeat, Request};
use crate::VectorDatabaseError;
use crate::collection::{CollectionDescription, CollectionShape, DataType, PropertyShape, VectorIndex};
use crate::collection_name::CollectionName;

fn index_name(index: VectorIndex) -> &'static str {
    match index {
        VectorIndex::Flat => "flat",
        VectorIndex::Hnsw { .. } => "hnsw",
    }
}

/// Distances are squared L2, and vectors are kept as they are: a server may compress those of new classes.
fn index_json(index: VectorIndex) -> Value {
    let mut settings = json!({"distance": "l2-squared", "skipDefaultQuantization": true});
    if let VectorIndex::Hnsw { max_connections, ef_construction, ef } = index {
        settings["maxConnections"] = max_connections.into();
        settings["efConstruction"] = ef_construction.into();
        settings["ef"] = ef.map_or_else(|| Value::from(-1), Value::from);
    }
    settings
}

fn class_json(shape: &CollectionShape<'_>) -> Value {
    let vector_index = shape.vectors.map_or(VectorIndex::Flat, |vectors| vectors.index);
    json!({
        "class": shape.name.as_str(),
        "vectorizer": "none",
        "vectorIndexType": index_name(vector_index),
        "vectorIndexConfig": index_json(vector_index),
        // A replica that missed a write or a deletion learns of it without being asked; the latest one counts.
        "replicationConfig": {
            "factor": shape.replicas,
            "asyncEnabled": shape.replicas > 1,
            "deletionStrategy": "TimeBasedResolution",
        },
        "shardingConfig": {"desiredCount": shape.shards},
        // Words arrive as they are searched for, so Weaviate leaves none out. The constants are tantivy's.
        "invertedIndexConfig": {"stopwords": {"preset": "none"}, "bm25": {"k1": 1.2, "b": 0.75}},
        "properties": shape.properties.iter().map(property).collect::<Vec<_>>(),
    })
}

fn property((property, data_type): &PropertyShape) -> Value {
    let text = |data_type: &str, tokenization: &str, is_filterable: bool, is_searchable: bool| {
        json!({
            "name": property.name(), "dataType": [data_type], "tokenization": tokenization,
            "indexFilterable": is_filterable, "indexSearchable": is_searchable,
        })
    };
    let number = |data_type: &str, is_filterable: bool, is_compared: bool| {
        json!({
            "name": property.name(), "dataType": [data_type],
            "indexFilterable": is_filterable, "indexRangeFilters": is_compared,
        })
    };
    match data_type {
        DataType::Stored | DataType::Group => text("text", "field", false, false),
        DataType::Exact => text("text", "field", true, false),
        DataType::Hashes => text("text[]", "field", true, false),
        DataType::Words => text("text", "whitespace", true, true),
        DataType::StoredInteger => number("int", false, false),
        DataType::Integer => number("int", true, false),
        DataType::Number => number("number", true, true),
    }
}

impl Client {
    /// Makes a class. Returns whether it was made: it may exist.
    ///
    /// # Errors
    ///
    /// If Weaviate fails or refuses.
    pub async fn create_collection(&self, shape: &CollectionShape<'_>) -> Result<bool, VectorDatabaseError> {
        if self.collection(shape.name).await?.is_some() {
            return Ok(false);
        }
        let body = Some(class_json(shape));
        let path = ["v1", "schema"];
        let request = Request { method: reqwest::Method::POST, body, repeat: Repeat::No, ..Request::get(&path) };
        match self.send(&request).await {
            Ok(_) => Ok(true),
            // Another writer may have been faster.
            Err(error @ VectorDatabaseError::Refused { .. }) => match self.collection(shape.name).await? {
                Some(_) => Ok(false),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Describes a class. None if it does not exist.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Option<CollectionDescription>, VectorDatabaseError> {
        let path = ["v1", "schema", name.as_str()];
        let found: Option<Class> = self.read(Request::get(&path)).await?;
        Ok(found.map(|class| CollectionDescription {
            replicas: class.replication_config.factor,
            shards: class.sharding_config.desired_count,
        }))
    }

    /// The names of all classes.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn collections(&self) -> Result<Vec<String>, VectorDatabaseError> {
        #[derive(Deserialize)]
        struct Schema {
            #[serde(default)]
            classes: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            class: String,
        }
        let schema: Schema = self.read_reply(Request::get(&["v1", "schema"])).await?;
        Ok(schema.classes.into_iter().map(|named| named.class).collect())
    }

    /// Deletes a class and its objects. Succeeds too if there is none.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn delete_collection(&self, name: &CollectionName) -> Result<(), VectorDatabaseError> {
        let path = ["v1", "schema", name.as_str()];
        let request = Request { method: reqwest::Method::DELETE, ..Request::get(&path) };
        match self.send(&request).await {
            Ok(_) | Err(VectorDatabaseError::Refused { status: 404, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Class {
    replication_config: Replication,
    sharding_config: Sharding,
}

#[derive(Deserialize)]
struct Replication {
    factor: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sharding {
    desired_count: u32,
}
