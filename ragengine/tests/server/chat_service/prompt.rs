//! The prompt of `/chat`: its budget, and chunks that are cut.

use serde_json::{Value, json};

use super::{chat, reply, with};
use crate::support::upstream::Upstream;

/// A document of one chunk, whose sentences are about a tax return.
fn long_document() -> Value {
    let sentence =
        |number: usize| format!("Rule {number} says that the annual tax return is due in May of each year. ");
    json!({"doc_id": "rules", "text": (1..=16).map(sentence).collect::<String>()})
}

async fn asked(max_context_tokens: u32, document: &Value) -> (Value, Upstream) {
    let upstream = Upstream::scripted(|_| reply("In May [1].")).await;
    let settings = format!(
        "endpoints: {{chat: {{reformulate: false, maxContextTokens: {max_context_tokens}}}}}\nchunking: {{maxTokens: 500}}\n\
         retrieval: {{maxDistance: 1.2}}\nembedding: {{local: {{maxTokens: 512}}}}"
    );
    let server = with(&upstream, &settings).await;
    server.post("/index", &json!({"index_name": "long", "documents": [document]})).await.ok();
    let body = json!({"query": "When is the tax return due?", "index_name": "long", "explain": true});
    (chat(&server, body).await.ok(), upstream)
}

#[tokio::test]
async fn a_chunk_that_does_not_fit_is_cut_behind_a_sentence() {
    let (answer, upstream) = asked(200, &long_document()).await;
    let prompt = upstream.last().json()["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(prompt.contains("Rule 1 says") && !prompt.contains("Rule 16"), "{prompt}");
    let passage = answer["citations"][0]["passage"].as_str().unwrap();
    assert!(passage.ends_with("May of each year."), "{passage}");
    let explanation = &answer["explanation"];
    assert_eq!(explanation["chunks"][0]["decision"], "selected");
    assert!(explanation["context_tokens"]["used"].as_u64().unwrap() <= 200, "{explanation}");
    assert_eq!(explanation["context_tokens"]["budget"], 200);
}

#[tokio::test]
async fn a_chunk_that_fits_is_whole() {
    let (answer, upstream) = asked(3500, &long_document()).await;
    assert!(upstream.last().json()["messages"][0]["content"].as_str().unwrap().contains("Rule 16"));
    assert_eq!(answer["citations"][0]["passage"], long_document()["text"].as_str().unwrap().trim());
}

#[tokio::test]
async fn a_chunk_of_which_not_even_a_sentence_fits_is_not_called_irrelevant() {
    let clause =
        |number: usize| format!("rule {number} says that the annual tax return is due in May of each year, and ");
    let sentence: String = (1..=16).map(clause).collect();
    let (answer, upstream) = asked(100, &json!({"doc_id": "rules", "text": sentence})).await;
    let said = json!("Relevant passages were found, but none fits into the context.");
    assert_eq!((&answer["answer"], &answer["citations"]), (&said, &json!([])));
    assert_eq!(answer["explanation"]["reason"], "over_budget");
    assert_eq!(upstream.received().len(), 0);
}
