use ragengine::access::{Action, Caller};
use ragengine::retrieval::stages::Endpoint;
use ragengine::retrieval::{self, Search};
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::request::StageChoices;
use ragengine_settings::Settings;
use serde_json::{Value, json};

use crate::support::upstream::Upstream;
use crate::support::{FACTS, Server, ask};

#[tokio::test]
async fn the_best_match_is_first() {
    let server = Server::shared();
    server.add("best", &FACTS).await;
    for (question, doc_id) in [
        ("How much do animals rest?", "cats"),
        ("Where is the freight going?", "ships"),
        ("At what temperature do I bake?", "bread"),
        ("What happens when I file my taxes too late?", "tax"),
        ("Does our satellite have air?", "moon"),
    ] {
        assert_eq!(server.found("best", question, 3).await[0], doc_id, "{question}");
    }
}

#[tokio::test]
async fn a_result_has_every_field() {
    let server = Server::shared();
    let document =
        json!({"doc_id": "d", "text": "The tower is 324 metres high.", "metadata": {"title": "Towers", "page": 3}});
    server.post("/index", &json!({"index_name": "fields", "documents": [document]})).await.ok();
    let ask = json!({"index_name": "fields", "query": "How high is the tower?"});
    let reply = server.post("/retrieve", &ask).await.ok();
    let node = &reply["results"][0];
    assert_eq!((reply["query"].as_str(), reply["count"].as_u64()), (Some("How high is the tower?"), Some(1)));
    assert_eq!((node["doc_id"].as_str(), node["text"].as_str()), (Some("d"), Some("The tower is 324 metres high.")));
    assert_eq!(node["metadata"], json!({"title": "Towers", "page": 3}));
    assert_eq!(node["source"], "both");
    let number = |key: &str| node[key].as_f64().unwrap();
    assert!(number("sparse_score") > 0.0 && (number("score") - 0.7 * number("dense_score") - 0.3).abs() < 1e-5);
    let similarity = number("dense_score");
    assert!((0.5..=1.0).contains(&similarity), "{similarity}");
    let again = server.post("/retrieve", &ask).await.ok();
    assert_eq!(again["results"][0]["node_id"], node["node_id"]);
    let same = json!({"index_name": "fields", "query": "The tower is 324 metres high."});
    let exact = server.post("/retrieve", &same).await.ok()["results"][0]["score"].as_f64().unwrap();
    assert!((0.999..=1.0).contains(&exact), "{exact}");
}

#[tokio::test]
async fn scores_fall_and_never_exceed_one() {
    let server = Server::shared();
    server.add("scores", &FACTS).await;
    let reply =
        server.post("/retrieve", &json!({"index_name": "scores", "query": "bread", "max_node_count": 300})).await.ok();
    let scores: Vec<f64> =
        reply["results"].as_array().unwrap().iter().map(|node| node["score"].as_f64().unwrap()).collect();
    assert_eq!(scores.len(), 5);
    assert!(scores.is_sorted_by(|left, right| left >= right) && scores.iter().all(|score| *score <= 1.0), "{scores:?}");
}

#[tokio::test]
async fn a_filter_returns_every_match_up_to_the_limit() {
    let server = Server::shared();
    let teams = ["a", "b", "c"];
    let documents: Vec<Value> = (0..60)
        .map(|number| {
            json!({
                "doc_id": format!("d{number}"), "text": format!("Entry number {number}."),
                "metadata": {"rare": number % 20 == 0, "team": teams[number % 3]}
            })
        })
        .collect();
    server.post("/index", &json!({"index_name": "filter", "documents": documents})).await.ok();
    let count = async |filter: Value, max: usize| {
        let body = json!({
            "index_name": "filter", "query": "Entry number 33", "max_node_count": max, "metadata_filter": filter
        });
        let reply = server.post("/retrieve", &body).await.ok();
        let filter = filter.as_object().unwrap().clone();
        for node in reply["results"].as_array().unwrap() {
            for (key, wanted) in &filter {
                let is = &node["metadata"][key];
                assert!(wanted == is || wanted.as_array().is_some_and(|any| any.contains(is)), "{node}");
            }
        }
        reply["count"].as_u64().unwrap()
    };
    assert_eq!(count(json!({"rare": true}), 10).await, 3);
    assert_eq!(count(json!({"team": "a"}), 300).await, 20);
    assert_eq!(count(json!({"team": ["a", "b"]}), 300).await, 40);
    assert_eq!(count(json!({"team": "a", "rare": true}), 5).await, 1);
    assert_eq!(count(json!({"team": "z"}), 5).await, 0);
    assert_eq!(count(json!({}), 7).await, 7);
}

#[tokio::test]
async fn an_invalid_search_is_refused_with_its_reason() {
    let server = Server::shared();
    server.add("invalid", &FACTS[..1]).await;
    let retrieve = async |body: Value| server.post("/retrieve", &body).await;
    assert_eq!(
        retrieve(json!({"index_name": "invalid", "query": "  "})).await.error(400),
        "Query string cannot be empty."
    );
    assert_eq!(retrieve(json!({"index_name": "no", "query": "x"})).await.error(404), "No such index: 'no' exists.");
    for count in [0, 301] {
        let message =
            retrieve(json!({"index_name": "invalid", "query": "x", "max_node_count": count})).await.error(422);
        assert!(message.contains("max_node_count") && message.contains("between 1 and 300"), "{message}");
    }
    assert!(retrieve(json!({"index_name": "invalid"})).await.error(422).contains("query"));
    let filter = json!({"index_name": "invalid", "query": "x", "metadata_filter": "team"});
    assert!(retrieve(filter).await.error(422).contains("metadata_filter"));
}

#[tokio::test]
async fn a_long_question_is_answered() {
    let server = Server::shared();
    server.add("long", &FACTS).await;
    let question = format!("When is the tax return due? {}", "And please be exact about it. ".repeat(200));
    assert_eq!(server.found("long", &question, 1).await.len(), 1);
}

#[tokio::test]
async fn a_chunk_shows_its_page_number_everywhere() {
    let upstream = Upstream::friendly().await;
    let server = Server::start(&upstream.settings().replace("maxDistance: 1.1", "maxDistance: 2")).await;
    let text = format!("{}\u{c}\u{c}{}", FACTS[3].1, FACTS[4].1);
    let of_document = json!({"title": "Almanac", "page": 99, "split_type": "pages"});
    let document = json!({"doc_id": "almanac", "text": text, "metadata": of_document});
    server.post("/index", &json!({"index_name": "pages", "documents": [document]})).await.ok();
    let question = "When is the annual tax return due, and how long does the moon need to orbit the earth?";
    let of_page = |page: u64| json!({"title": "Almanac", "page": page, "split_type": "pages"});
    let shown = |nodes: &Value| {
        let node = |node: &Value| (node["text"].as_str().unwrap().to_owned(), node["metadata"].clone());
        let mut shown: Vec<_> = nodes.as_array().unwrap().iter().map(node).collect();
        shown.sort_by_key(|(text, _)| text.contains("moon"));
        shown
    };
    let expected = [(FACTS[3].1.to_owned(), of_page(1)), (FACTS[4].1.to_owned(), of_page(3))];
    let found = server.post("/retrieve", &json!({"index_name": "pages", "query": question})).await.ok();
    assert_eq!(shown(&found["results"]), expected);
    let reply = server.post("/v1/chat/completions", &ask("pages", question)).await.ok();
    assert_eq!(shown(&reply["source_nodes"]), expected);
    let prompt = upstream.last().json()["messages"][0]["content"].as_str().unwrap().to_owned();
    for (page, text) in [(1, FACTS[3].1), (3, FACTS[4].1)] {
        assert!(prompt.contains(&format!("“Almanac” · page {page}\n{text}")), "{prompt}");
    }
    assert!(!prompt.contains("99"), "{prompt}");
    // The document itself keeps its own metadata.
    let listed = server.get("/indexes/pages/documents").await.ok();
    assert_eq!(listed["documents"][0]["metadata"], of_document);
    // Without a split by pages, each chunk has the page in the metadata of the document.
    let plain = json!({"doc_id": "almanac", "text": text, "metadata": {"page": 99}});
    server.post("/index", &json!({"index_name": "pages", "documents": [plain]})).await.ok();
    let found = server.post("/retrieve", &json!({"index_name": "pages", "query": question})).await.ok();
    assert!(shown(&found["results"]).iter().all(|(_, metadata)| *metadata == json!({"page": 99})), "{found}");
}

/// A text of some thousand tokens that is unrelated to all of the facts.
fn paste() -> String {
    let line = |number: usize| {
        format!("Invoice {number} of the paper mill lists {} reams of grey cardboard.", number * 7 % 90)
    };
    (0..150).map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_question_at_either_end_of_a_long_paste_is_found() {
    let server = Server::shared();
    server.add("pastes", &FACTS).await;
    for (question, doc_id) in
        [("At what temperature do I bake the bread?", "bread"), ("Does the moon have an atmosphere?", "moon")]
    {
        for long in [format!("{}\n\n{question}", paste()), format!("{question}\n\n{}", paste())] {
            let body = json!({"index_name": "pastes", "query": long, "max_node_count": 1});
            let reply = server.post("/retrieve", &body).await.ok();
            assert_eq!(reply["results"][0]["doc_id"], doc_id, "{question}");
            assert!(reply["query_windows"].as_u64().unwrap() > 5, "{}", reply["query_windows"]);
            let mut chat = ask("pastes", &long);
            chat["explain"] = json!(true);
            let reply = server.post("/v1/chat/completions", &chat).await.ok();
            assert_eq!(reply["source_nodes"][0]["doc_id"], doc_id, "{reply}");
            assert!(reply["explanation"]["question_windows"].as_u64().unwrap() > 5);
        }
        let short = server.post("/retrieve", &json!({"index_name": "pastes", "query": question})).await.ok();
        assert_eq!(short["query_windows"], Value::Null);
    }
    let metrics = server.get("/metrics").await.text;
    for asker in ["chat", "retrieve"] {
        assert!(
            metrics.contains(&format!("ragengine_long_questions_total{{asker=\"{asker}\"}}")),
            "{asker}: {metrics}"
        );
    }
    // A filter works for long questions, too.
    let document =
        json!({"doc_id": "hot", "text": "Bread is baked at a temperature of 230 degrees.", "metadata": {"of": "us"}});
    server.post("/index", &json!({"index_name": "pastes", "documents": [document]})).await.ok();
    let long = format!("{}\n\nAt what temperature do I bake the bread?", paste());
    let body = json!({"index_name": "pastes", "query": long, "metadata_filter": {"of": "us"}});
    let results = server.post("/retrieve", &body).await.ok()["results"].clone();
    assert_eq!((results.as_array().unwrap().len(), &results[0]["doc_id"]), (1, &json!("hot")));
}

#[tokio::test]
async fn a_question_over_the_window_limit_is_refused_with_the_limit() {
    let server = Server::start("{retrieval: {maxQuestionWindows: 3}}").await;
    server.add("i", &FACTS[..1]).await;
    let long = paste();
    for reply in [
        server.post("/retrieve", &json!({"index_name": "i", "query": long})).await,
        server.post("/v1/chat/completions", &ask("i", &long)).await,
    ] {
        let message = reply.error(400);
        for said in ["too long", "at most about 687 tokens", "retrieval.maxQuestionWindows"] {
            assert!(message.contains(said), "{said}: {message}");
        }
    }
}

#[tokio::test]
async fn a_failed_search_is_measured() {
    let server = Server::start("").await;
    server.add("docs", &FACTS).await;
    server.found("docs", "cats", 1).await;
    let index = server.app.loaded().unwrap().index(&Caller::writer(), Action::Read, "docs").await.unwrap();
    // FAISS refuses a vector of the wrong width.
    let search = Search {
        vectors: vec![1.0, 0.0].into(),
        text: "cats".into(),
        filter: Filter::default(),
        rule: None,
        max_distance: 4.0,
        threshold: None,
        top_k: 1,
        on: Endpoint::Retrieve.stages(&Settings::default(), &StageChoices::default()),
        endpoint: Endpoint::Retrieve,
        side_tasks: None,
    };
    let failed = retrieval::show_all(&server.app, &Caller::writer(), &index, search, |_, _| Ok(())).await;
    assert_eq!(failed.unwrap_err().status(), 500);
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("ragengine_search_duration_seconds_count 2\n"), "{metrics}");
}
