//! Neighbouring chunks become one passage of the prompt.

use serde_json::{Value, json};

use crate::support::upstream::Upstream;
use crate::support::{Server, ask};

/// A document of several chunks about one subject, each of which says something else.
const DOCUMENT: &str = "The ferry to the island leaves the old harbour at nine in the morning, seven days a week. In winter \
    the ferry also leaves at noon, unless the sea is frozen or the captain is ill. Tickets for the ferry are sold in the \
    white hut beside the fish market, for cash only. Bicycles travel on the lower deck of the ferry and cost two euros \
    more. Dogs are welcome on the ferry if they are on a lead and stay out of the restaurant. The last ferry back from the \
    island leaves at six in the evening, and nobody waits for late guests.";

async fn chat(server: &Server, pipeline: Value) -> Value {
    let mut body = ask("docs", "When does the ferry to the island leave?");
    (body["pipeline"], body["explain"]) = (pipeline, json!(true));
    server.post("/v1/chat/completions", &body).await.ok()
}

#[tokio::test]
async fn neighbours_are_one_passage_in_reading_order() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&upstream.settings()).await;
    let index = json!({"chunking": {"maxTokens": 40, "overlapTokens": 8}});
    server.put("/indexes/docs", &index).await.ok();
    server.add("docs", &[("ferry", DOCUMENT), ("train", "The train to the coast leaves at ten.")]).await;

    let separate = chat(&server, Value::Null).await;
    let of_ferry = |reply: &Value| {
        let nodes = reply["source_nodes"].as_array().unwrap().clone();
        nodes.into_iter().filter(|node| node["doc_id"] == "ferry").collect::<Vec<_>>()
    };
    assert!(of_ferry(&separate).len() > 2, "{separate}");

    let joined = chat(&server, json!({"diversity": "duplicates"})).await;
    let passages = of_ferry(&joined);
    assert_eq!(passages.len(), 1, "{joined}");
    let passage = passages[0]["text"].as_str().unwrap();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(passage), words(DOCUMENT), "every sentence is there once, in order");
    // Its id and its distance are those of the best chunk.
    assert_eq!(passages[0]["node_id"], separate["source_nodes"][0]["node_id"]);
    assert_eq!(passages[0]["score"], separate["source_nodes"][0]["score"]);
    let prompt = upstream.last().json()["messages"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!(prompt.matches("white hut").count(), 1, "{prompt}");
    let chunks = joined["explanation"]["chunks"].as_array().unwrap();
    assert!(chunks.iter().filter(|chunk| chunk["decision"] == "selected").count() > 2, "{joined}");
}
