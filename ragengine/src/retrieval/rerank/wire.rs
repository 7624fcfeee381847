//! Requests to rerankers and their replies.

use serde::{Deserialize, Serialize};

use super::error::RerankError;

/// A request to a reranker.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Request<'a> {
    /// Cohere's API, which Jina, vLLM and llama.cpp have too.
    Cohere {
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
        query: &'a str,
        documents: &'a [&'a str],
        top_n: usize,
    },
    /// The API of Text Embeddings Inference, which serves one model. It would refuse texts that are too long.
    Tei { query: &'a str, texts: &'a [&'a str], truncate: bool },
}

impl<'a> Request<'a> {
    pub fn cohere(model: Option<&'a str>, query: &'a str, documents: &'a [&'a str]) -> Self {
        Self::Cohere { model, query, documents, top_n: documents.len() }
    }

    pub fn tei(query: &'a str, texts: &'a [&'a str]) -> Self {
        Self::Tei { query, texts, truncate: true }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Reply {
    Cohere { results: Vec<Scored> },
    Tei(Vec<Scored>),
}

#[derive(Debug, Deserialize)]
struct Scored {
    index: usize,
    #[serde(alias = "score")]
    relevance_score: f64,
}

/// The positions in a reply by their scores, the best first. Unknown and repeated positions are ignored.
///
/// # Errors
///
/// [`RerankError::Malformed`] if it is no reply of a reranker, [`RerankError::Nonsense`] if it names none of the
/// `count` texts.
pub(super) fn order(reply: &[u8], count: usize) -> Result<Vec<usize>, RerankError> {
    let not_one = |_| RerankError::Malformed(format!("it is not a list of scores, of {} bytes", reply.len()));
    let (Reply::Cohere { results: mut scored } | Reply::Tei(mut scored)) =
        serde_json::from_slice(reply).map_err(not_one)?;
    scored.sort_by(|one, other| other.relevance_score.total_cmp(&one.relevance_score));
    let mut is_seen = vec![false; count];
    let is_new = |index: &usize| is_seen.get_mut(*index).is_some_and(|seen| !std::mem::replace(seen, true));
    let order: Vec<usize> = scored.into_iter().map(|scored| scored.index).filter(is_new).collect();
    if order.is_empty() { Err(RerankError::Nonsense) } else { Ok(order) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_requests_have_only_the_fields_of_their_api() {
        let texts = ["a", "b"];
        for (request, expected) in [
            (Request::cohere(None, "q", &texts), json!({"query": "q", "documents": texts, "top_n": 2})),
            (
                Request::cohere(Some("m"), "q", &texts),
                json!({"model": "m", "query": "q", "documents": texts, "top_n": 2}),
            ),
            (Request::tei("q", &texts), json!({"query": "q", "texts": texts, "truncate": true})),
        ] {
            assert_eq!(serde_json::to_value(request).unwrap(), expected);
        }
    }

    #[test]
    fn both_replies_are_read() {
        for (reply, expected) in [
            (
                r#"{"results": [{"index": 1, "relevance_score": 0.2}, {"index": 0, "relevance_score": 0.9}]}"#,
                &[0, 1][..],
            ),
            (r#"[{"index": 1, "score": -3.5}, {"index": 2, "score": -0.5}]"#, &[2, 1]),
            (r#"{"id": "r", "results": [{"index": 2, "relevance_score": 1, "document": {"text": "c"}}]}"#, &[2]),
            // Equal scores keep the order of the reply. Unknown and repeated positions are ignored.
            (r#"[{"index": 1, "score": 1}, {"index": 0, "score": 1}]"#, &[1, 0]),
            (r#"[{"index": 9, "score": 9}, {"index": 1, "score": 2}, {"index": 1, "score": 1}]"#, &[1]),
        ] {
            assert_eq!(order(reply.as_bytes(), 3).unwrap(), expected, "{reply}");
        }
    }

    #[test]
    fn other_replies_are_nonsense_and_not_quoted() {
        for reply in [
            "",
            "hunter2",
            "{}",
            "[1]",
            r#"{"results": []}"#,
            "[]",
            r#"[{"index": 9, "score": 1}]"#,
            r#"[{"index": -1}]"#,
        ] {
            let error = order(reply.as_bytes(), 3).unwrap_err();
            assert_eq!(error.outcome(), "nonsense", "{reply}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
