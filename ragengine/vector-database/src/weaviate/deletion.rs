//! Deletions by a condition.

use serde::Deserialize;
use serde_json::json;

use super::replicas::Write;
use super::{Client, Repeat, Request, conditions};
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;
use crate::object::Deletion;
use crate::predicate::Predicate;

/// Weaviate deletes so many objects at most at once. It is asked again until none is left, and gives up after so many
/// times without progress.
const MAX_IDLE_ROUNDS: u32 = 3;

impl Client {
    /// Deletes all objects that a condition holds for.
    ///
    /// # Errors
    ///
    /// [`VectorDatabaseError::NotDeleted`], or if Weaviate fails. What was deleted before the error stays deleted.
    pub async fn delete_where(
        &self,
        collection: &CollectionName,
        predicate: &Predicate,
    ) -> Result<Deletion, VectorDatabaseError> {
        let mut deletion = Deletion::default();
        let body = json!({
            "match": {"class": collection.as_str(), "where": conditions::json(predicate)},
            "output": "minimal",
            "dryRun": false,
        });
        let mut write = Write::new(self);
        let mut idle_rounds = 0;
        loop {
            let request = Request {
                method: reqwest::Method::DELETE,
                path: &["v1", "batch", "objects"],
                query: &[],
                replicas: Some(write.replicas()),
                body: Some(body.clone()),
                repeat: Repeat::Yes,
            };
            let Reply { results } = match self.read_reply(request).await {
                Err(error) if write.goes_on(&error).await => continue,
                result => result?,
            };
            deletion.objects += results.successful;
            if results.failed == 0 && results.matches < results.limit {
                write.has_succeeded();
                return Ok(deletion);
            }
            if results.failed > 0 && write.goes_on(&VectorDatabaseError::NotDeleted(results.failed)).await {
                continue;
            }
            idle_rounds = if results.successful > 0 { 0 } else { idle_rounds + 1 };
            if idle_rounds == MAX_IDLE_ROUNDS {
                return Err(VectorDatabaseError::NotDeleted(results.failed));
            }
        }
    }
}

#[derive(Deserialize)]
struct Reply {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    matches: u64,
    #[serde(default)]
    limit: u64,
    #[serde(default)]
    successful: u64,
    #[serde(default)]
    failed: u64,
}
