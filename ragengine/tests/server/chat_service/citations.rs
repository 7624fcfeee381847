//! Citations are extracted, checked, deduplicated and renumbered.

use serde_json::{Value, json};

use super::{answering, chat, with};
use crate::support::upstream::Upstream;
use crate::support::{FACTS, Server, ask, outcome, stage_of};

const QUESTION: &str = "When is the annual tax return due?";

#[tokio::test]
async fn an_answer_has_its_citations() {
    let (server, upstream) = answering("It is due in May [1]. Cats do not pay [9].", "").await;
    let reply = chat(&server, json!({"query": QUESTION, "explain": true})).await.ok();
    let fields: Vec<&str> = reply.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["query", "answer", "citations", "answer_id", "explanation"]);
    assert_eq!(
        (&reply["query"], &reply["answer"]),
        (&json!(QUESTION), &json!("It is due in May [1]. Cats do not pay."))
    );
    let citation = &reply["citations"][0];
    assert!(citation["node_id"].is_string());
    let known = json!({"title": "tax", "page": null, "url": null, "number": 1, "doc_id": "tax",
        "node_id": citation["node_id"], "passage": FACTS[3].1, "heading": null});
    assert_eq!(reply["citations"], json!([known]));
    assert_eq!(
        (outcome(&reply, "citations"), stage_of(&reply, "citations")["citations"].clone()),
        ("done".into(), json!([1]))
    );
    assert_eq!(outcome(&reply, "postprocess"), "unchanged");
    assert_eq!(upstream.received().len(), 1);
    let metrics = server.get("/metrics").await.text;
    let counted = r#"ragengine_pipeline_stages_total{endpoint="chat",outcome="done",stage="citations"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn sources_that_a_reader_cannot_tell_apart_have_one_number() {
    let text = "Ships leave [2]. Late returns cost 25 euros [1][2]. Bread bakes [3, 1].";
    let upstream = Upstream::scripted(move |_| super::reply(text)).await;
    let settings = "retrieval: {maxDistance: 4}";
    let server = with(&upstream, settings).await;
    let page = |id: &str, text: &str, page: u64| json!({"doc_id": id, "text": text, "metadata": {"title": "Rules", "page": page, "url": "https://e/r"}});
    let documents = [
        page("a", "The annual tax return is due on the last day of May.", 1),
        page("b", "The annual tax return needs a form.", 1),
        page("c", "The annual tax return has a late fee.", 2),
    ];
    server.post("/index", &json!({"index_name": "rules", "documents": documents})).await.ok();
    let body = json!({"query": QUESTION, "index_name": "rules", "pipeline": {"rerank": "never"}});
    let reply = chat(&server, body).await.ok();
    let cited: Vec<(u64, u64)> = reply["citations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|citation| (citation["number"].as_u64().unwrap(), citation["page"].as_u64().unwrap()))
        .collect();
    let pages: Vec<u64> = cited.iter().map(|(_, page)| *page).collect();
    assert_eq!(
        cited.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        (1..=cited.len() as u64).collect::<Vec<_>>()
    );
    assert_eq!((pages.len(), pages.contains(&1), pages.contains(&2)), (2, true, true), "{reply}");
    assert_eq!(reply["citations"][0]["url"], "https://e/r");
}

#[tokio::test]
async fn an_answer_that_cites_nothing_is_rejected() {
    for text in ["It is due in May.", "It is due in May [7].", "Use `[1]`."] {
        let (server, _) = answering(text, "citations: {fallbackMessage: Nothing supports that.}").await;
        let reply = chat(&server, json!({"query": QUESTION, "explain": true, "session_id": "session-1"})).await.ok();
        assert_eq!((&reply["answer"], &reply["citations"]), (&json!("Nothing supports that."), &json!([])), "{text}");
        assert_eq!(outcome(&reply, "citations"), "rejected", "{text}");
        let history = server.get("/chat/history/session-1").await.ok();
        let answer = &history["messages"][1];
        assert_eq!((&answer["content"], &answer["sources"]), (&json!("Nothing supports that."), &json!([])));
    }
}

#[tokio::test]
async fn an_insufficient_answer_keeps_its_words_and_loses_its_markers() {
    let (server, _) = answering("There is not enough information [1]. See [2] for taxes.", "").await;
    let reply = chat(&server, json!({"query": QUESTION, "explain": true})).await.ok();
    assert_eq!(reply["answer"], "There is not enough information. See for taxes.");
    assert_eq!((&reply["citations"], outcome(&reply, "citations").as_str()), (&json!([]), "insufficient"));
}

#[tokio::test]
async fn nothing_found_is_said_without_the_language_model() {
    let (server, upstream) = answering("Hello [1].", "retrieval: {maxDistance: 0.1}").await;
    for stream in [false, true] {
        let reply = chat(&server, json!({"query": "Who won?", "stream": stream, "explain": true})).await;
        let reply = if stream { super::typed_events(&reply.text).pop().unwrap().1 } else { reply.ok() };
        assert_eq!((&reply["answer"], &reply["citations"]), (&json!("No relevant information found"), &json!([])));
        assert_eq!(reply["explanation"]["reason"], "nothing_relevant");
    }
    assert_eq!(upstream.received().len(), 0);
    let query = server.post("/query", &json!({"query": "Who won?"})).await.ok();
    assert_eq!((&query["answer"], &query["sources"]), (&json!("Hello [1]."), &json!([])), "the model answers alone");
}

#[tokio::test]
async fn a_query_with_citations_has_only_cited_sources() {
    let (server, _) = answering("Cats sleep [2].", "retrieval: {maxDistance: 4}").await;
    let asked = |citations: bool| json!({"query": QUESTION, "pipeline": {"citations": citations, "rerank": "never"}});
    let plain = server.post("/query", &asked(false)).await.ok();
    assert_eq!((&plain["answer"], plain.get("citations")), (&json!("Cats sleep [2]."), None));
    assert!(plain["sources"].as_array().unwrap().len() > 1);
    let cited = server.post("/query", &asked(true)).await.ok();
    assert_eq!(cited["answer"], "Cats sleep [1].");
    let mut second = plain["sources"][1].clone();
    second["number"] = json!(1);
    assert_eq!(cited["sources"], json!([second]));
    assert_eq!((&cited["citations"][0]["number"], &cited["citations"][0]["doc_id"]), (&json!(1), &second["doc_id"]));
    let session = cited["session_id"].as_str().unwrap();
    let history = server.get(&format!("/chat/history/{session}")).await.ok();
    assert_eq!(history["messages"][1]["sources"], cited["sources"]);
}

fn completion_with(more: Value) -> Value {
    let mut body = ask("docs", QUESTION);
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn a_completion_can_have_citations() {
    let (server, upstream) = answering("<b>Soon</b> [1] &amp; [8]", "").await;
    let plain = server.post("/v1/chat/completions", &ask("docs", QUESTION)).await.ok();
    assert_eq!(plain["choices"][0]["message"]["content"], "<b>Soon</b> [1] &amp; [8]");
    assert_eq!(plain.get("citations"), None);
    let body = completion_with(json!({"citations": true, "pipeline": {"postprocess": true}, "explain": true}));
    let cited = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(cited["choices"][0]["message"]["content"], "**Soon** [1] &");
    assert_eq!((&cited["source_nodes"], &cited["citations"][0]["doc_id"]), (&plain["source_nodes"], &json!("tax")));
    assert_eq!((outcome(&cited, "postprocess"), outcome(&cited, "citations")), ("done".into(), "done".into()));
    assert_eq!(cited["usage"]["total_tokens"], 5);
    for own in ["citations", "pipeline", "explain"] {
        assert_eq!(upstream.last().json().get(own), None, "sent to the language model");
    }
}

#[tokio::test]
async fn an_answer_without_documents_is_not_checked() {
    let (server, _) = answering("Nobody knows [1].", "retrieval: {maxDistance: 0.1}").await;
    let messages = json!([{"role": "user", "content": "Who won?"}]);
    let body = completion_with(json!({"messages": messages, "citations": true}));
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let answer = &reply["choices"][0]["message"]["content"];
    assert_eq!((answer, &reply["citations"]), (&json!("Nobody knows [1]."), &json!([])));
    let reply = server.post("/query", &json!({"query": "Who won?", "pipeline": {"citations": true}})).await.ok();
    assert_eq!((&reply["answer"], &reply["sources"]), (&json!("Nobody knows [1]."), &json!([])));
    assert_eq!(reply["citations"], json!([]));
}

#[tokio::test]
async fn passages_with_sources_cannot_be_cited() {
    let (server, _) = answering("Yes [1].", "").await;
    let body = completion_with(json!({"citations": true, "pipeline": {"context_format": "source"}}));
    let error = server.post("/v1/chat/completions", &body).await.error(400);
    assert!(error.contains("context_format") && error.contains("numbered"), "{error}");
}

#[tokio::test]
async fn the_support_of_a_citation_is_measured() {
    let text = "The annual tax return is due on the last day of May [1]. Volcanoes erupt [2].";
    let (server, _) = answering(text, "citations: {verify: true}\nretrieval: {maxDistance: 4}").await;
    let body = json!({"query": QUESTION, "pipeline": {"rerank": "never"}});
    let reply = chat(&server, body).await.ok();
    let support = |place: usize| reply["citations"][place]["support"].as_f64().unwrap();
    assert!(support(0) > 0.6 && support(1) < 0.4, "{reply}");
    assert!(server.get("/metrics").await.text.contains(r#"ragengine_citation_support_count{endpoint="chat"} 2"#));
}

#[tokio::test]
async fn the_built_in_model_is_cited() {
    let server = Server::start("retrieval: {maxDistance: 1.1}").await;
    server.add("docs", &FACTS).await;
    let reply = chat(&server, json!({"query": QUESTION})).await.ok();
    assert!(reply["answer"].as_str().unwrap().contains("last day of May"), "{reply}");
    assert_eq!(reply["citations"][0]["doc_id"], "tax");
    let found = server.post("/search", &json!({"query": QUESTION})).await.ok();
    assert_eq!(
        (&found["query"], &found["results"][0]["doc_id"], &found["count"]),
        (&json!(QUESTION), &json!("tax"), &json!(5))
    );
    let few = server.post("/search", &json!({"query": QUESTION, "top_k": 2, "index_name": "docs"})).await.ok();
    assert_eq!(few["count"], 2);
    assert_eq!(server.post("/search", &json!({"query": QUESTION, "top_k": 0})).await.status, 422);
    assert_eq!(server.post("/search", &json!({"query": " "})).await.error(400), "Query string cannot be empty.");
    assert_eq!(
        server.post("/search", &json!({"query": "q", "index_name": "n"})).await.error(404),
        "No such index: 'n' exists."
    );
}
