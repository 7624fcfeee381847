//! Classes.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Client, Repeat, Request};
use crate::WeaviateError;
use crate::class_name::ClassName;
use crate::property::Property;

/// How vectors are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndex {
    /// All are compared.
    Flat,
    /// A graph.
    Hnsw {
        /// The most neighbours of a node.
        max_connections: u32,
        /// The candidates when a node is added.
        ef_construction: u32,
        /// The candidates of a search. None: Weaviate chooses, by the number of results.
        ef: Option<u32>,
    },
}

impl VectorIndex {
    fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Hnsw { .. } => "hnsw",
        }
    }

    /// Distances are squared L2, and vectors are kept as they are: a server may compress those of new classes.
    fn json(self) -> Value {
        let mut settings = json!({"distance": "l2-squared", "skipDefaultQuantization": true});
        if let Self::Hnsw { max_connections, ef_construction, ef } = self {
            settings["maxConnections"] = max_connections.into();
            settings["efConstruction"] = ef_construction.into();
            settings["ef"] = ef.map_or_else(|| Value::from(-1), Value::from);
        }
        settings
    }
}

/// The type of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataType {
    /// A text that is only kept.
    Stored,
    /// A text that is found as a whole.
    Exact,
    /// A list of texts that are found as a whole.
    ExactList,
    /// Words with spaces between them, which are found and counted as they are.
    Words,
    /// An integer that is only kept.
    StoredInteger,
    /// An integer that is added up.
    Integer,
    /// A number that is compared and sorted by.
    Number,
}

/// A property of a class.
pub type PropertyShape = (Property, DataType);

/// A class to make.
#[derive(Debug, Clone)]
pub struct ClassShape<'a> {
    /// Its name.
    pub name: &'a ClassName,
    /// Its properties.
    pub properties: &'a [PropertyShape],
    /// How its vectors are searched. None if it has none.
    pub vector_index: Option<VectorIndex>,
    /// How many nodes have each object.
    pub replicas: u32,
    /// The shards. Each has BM25 statistics of its own.
    pub shards: u32,
}

impl ClassShape<'_> {
    fn json(&self) -> Value {
        let vector_index = self.vector_index.unwrap_or(VectorIndex::Flat);
        json!({
            "class": self.name.as_str(),
            "vectorizer": "none",
            "vectorIndexType": vector_index.name(),
            "vectorIndexConfig": vector_index.json(),
            // A replica that missed a write or a deletion learns of it without being asked; the latest one counts.
            "replicationConfig": {
                "factor": self.replicas,
                "asyncEnabled": self.replicas > 1,
                "deletionStrategy": "TimeBasedResolution",
            },
            "shardingConfig": {"desiredCount": self.shards},
            // Words arrive as they are searched for, so Weaviate leaves none out. The constants are tantivy's.
            "invertedIndexConfig": {"stopwords": {"preset": "none"}, "bm25": {"k1": 1.2, "b": 0.75}},
            "properties": self.properties.iter().map(property).collect::<Vec<_>>(),
        })
    }
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
        DataType::Stored => text("text", "field", false, false),
        DataType::Exact => text("text", "field", true, false),
        DataType::ExactList => text("text[]", "field", true, false),
        DataType::Words => text("text", "whitespace", true, true),
        DataType::StoredInteger => number("int", false, false),
        DataType::Integer => number("int", true, false),
        DataType::Number => number("number", true, true),
    }
}

/// What is known of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassDescription {
    /// How many nodes have each object.
    pub replicas: u32,
    /// How many parts it has.
    pub shards: u32,
}

impl Client {
    /// Makes a class. Returns whether it was made: it may exist.
    ///
    /// # Errors
    ///
    /// If Weaviate fails or refuses.
    pub async fn create_class(&self, shape: &ClassShape<'_>) -> Result<bool, WeaviateError> {
        if self.class(shape.name).await?.is_some() {
            return Ok(false);
        }
        let body = Some(shape.json());
        let path = ["v1", "schema"];
        let request = Request { method: reqwest::Method::POST, path: &path, query: &[], body, repeat: Repeat::No };
        match self.send(request).await {
            Ok(_) => Ok(true),
            // Another writer may have been faster.
            Err(error @ WeaviateError::Refused { .. }) => match self.class(shape.name).await? {
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
    pub async fn class(&self, name: &ClassName) -> Result<Option<ClassDescription>, WeaviateError> {
        let path = ["v1", "schema", name.as_str()];
        let found: Option<Class> = self.read(Request::get(&path)).await?;
        Ok(found.map(|class| ClassDescription {
            replicas: class.replication_config.factor,
            shards: class.sharding_config.desired_count,
        }))
    }

    /// The names of all classes.
    ///
    /// # Errors
    ///
    /// If Weaviate fails.
    pub async fn classes(&self) -> Result<Vec<String>, WeaviateError> {
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
    pub async fn delete_class(&self, name: &ClassName) -> Result<(), WeaviateError> {
        let path = ["v1", "schema", name.as_str()];
        let request = Request { method: reqwest::Method::DELETE, ..Request::get(&path) };
        match self.send(request).await {
            Ok(_) | Err(WeaviateError::Refused { status: 404, .. }) => Ok(()),
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
