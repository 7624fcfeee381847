//! Deletions by a condition.

use serde::Deserialize;
use serde_json::json;

use super::{CONSISTENCY, Client, Repeat, Request};
use crate::WeaviateError;
use crate::class_name::ClassName;
use crate::predicate::Predicate;

/// Weaviate deletes so many objects at most at once. It is asked again until none is left, and gives up after so many
/// times without progress.
const MAX_IDLE_ROUNDS: u32 = 3;

/// What a deletion did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deletion {
    /// How many objects were deleted.
    pub objects: u64,
}

impl Client {
    /// Deletes all objects that a condition holds for.
    ///
    /// # Errors
    ///
    /// [`WeaviateError::NotDeleted`], or if Weaviate fails. What was deleted before the error stays deleted.
    pub async fn delete_where(&self, class: &ClassName, predicate: &Predicate) -> Result<Deletion, WeaviateError> {
        let mut deletion = Deletion::default();
        if matches!(predicate, Predicate::Nothing | Predicate::Everything) {
            // To delete everything is to delete the class.
            return Ok(deletion);
        }
        let body = json!({
            "match": {"class": class.as_str(), "where": predicate.json()}, "output": "minimal", "dryRun": false,
        });
        let mut idle_rounds = 0;
        loop {
            let request = Request {
                method: reqwest::Method::DELETE,
                path: &["v1", "batch", "objects"],
                query: &[CONSISTENCY],
                body: Some(body.clone()),
                repeat: Repeat::Yes,
            };
            let Reply { results } = self.read_reply(request).await?;
            deletion.objects += results.successful;
            if results.failed == 0 && results.matches < results.limit {
                return Ok(deletion);
            }
            idle_rounds = if results.successful > 0 { 0 } else { idle_rounds + 1 };
            if idle_rounds == MAX_IDLE_ROUNDS {
                return Err(WeaviateError::NotDeleted(results.failed));
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
