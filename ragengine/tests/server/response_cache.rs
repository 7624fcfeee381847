//! Answers that are given again to the same question.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use ragengine::access::Caller;
use ragengine_stores::{NewVote, Rating};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::upstream::{Upstream, completion, json_reply};
use crate::support::{FACTS, Server};

const QUESTION: &str = "When is the annual tax return due?";

fn reply(text: &str) -> Response {
    let mut reply = completion(text);
    reply["choices"][0]["finish_reason"] = json!("stop");
    json_reply(200, &reply)
}

/// A server whose language model numbers its answers, and the number of them.
async fn server(more: &str) -> (Server, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let upstream = Upstream::scripted(move |body| {
        let is_side_task = body["messages"][0]["content"].as_str().unwrap_or_default().starts_with("Rewrite");
        if is_side_task {
            return reply(QUESTION);
        }
        let number = counter.fetch_add(1, Ordering::SeqCst) + 1;
        reply(&format!("Answer {number} [1]."))
    })
    .await;
    let settings = format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\nendpoints: {{chat: {{reformulate: false}}}}\n\
         {}",
        upstream.url,
        if more.is_empty() { "cache: {minSimilarity: 0.5}" } else { more }
    );
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    (server, asked)
}

async fn ask(server: &Server, path: &str, body: &Value) -> (String, Value) {
    let reply = server.post(path, body).await;
    let cache = reply.headers.get("x-cache").map(|value| value.to_str().unwrap().to_owned());
    // The reply does not wait long until the answer is kept.
    server.until_background_ended().await;
    (cache.unwrap_or_default(), reply.ok())
}

#[tokio::test]
async fn an_equal_question_gets_the_same_answer() {
    let (server, asked) = server("").await;
    let question = |text: &str| json!({"query": text});
    let (first, answer) = ask(&server, "/chat", &question(QUESTION)).await;
    assert_eq!((first.as_str(), &answer["answer"]), ("miss", &json!("Answer 1 [1].")));
    let (second, again) = ask(&server, "/chat", &question("  when is THE annual tax return, due")).await;
    assert_eq!(
        (second.as_str(), &again["answer"], &again["citations"]),
        ("hit", &answer["answer"], &answer["citations"])
    );
    assert_eq!(again["query"], "  when is THE annual tax return, due");
    assert_ne!(again["answer_id"], answer["answer_id"], "each answer can be voted on");
    let vote = json!({"answer_id": again["answer_id"], "rating": "up"});
    server.post("/feedback", &vote).await.ok();
    assert_eq!(ask(&server, "/query", &question(QUESTION)).await.0, "miss", "another endpoint");
    let stream = server.post("/chat", &json!({"query": QUESTION, "stream": true})).await;
    assert_eq!(stream.headers["x-cache"], "hit");
    assert!(stream.text.contains("event: token\ndata: {\"text\":\"Answer 1 [1].\"}"), "{}", stream.text);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("ragengine_cache_look_ups_total{outcome=\"hit\"} 2"), "{metrics}");
}

#[tokio::test]
async fn a_changed_index_never_gives_an_old_answer() {
    let (server, _) = server("").await;
    let body = json!({"query": QUESTION});
    for (change, expected) in [
        (None, "Answer 1 [1]."),
        (
            Some(
                json!({"index_name": "docs", "documents": [{"doc_id": "new", "text": "The tax return is due in June."}]}),
            ),
            "Answer 2 [1].",
        ),
    ] {
        if let Some(change) = change {
            server.post("/index", &change).await.ok();
        }
        assert_eq!(ask(&server, "/chat", &body).await.0, "miss");
        assert_eq!(ask(&server, "/chat", &body).await.1["answer"], expected);
    }
    server.post("/indexes/docs/documents/delete", &json!({"doc_ids": ["new"]})).await.ok();
    assert_eq!(ask(&server, "/chat", &body).await.0, "miss");
    server.post("/cache/purge", &json!({"index_name": "docs"})).await.ok();
    assert_eq!(ask(&server, "/chat", &body).await.0, "miss");
    assert_eq!(ask(&server, "/chat", &body).await.0, "hit");
    assert_eq!(server.post("/cache/purge", &json!({"index_name": "n"})).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_equal_questions_ask_the_language_model_once() {
    let (server, asked) = server("").await;
    let server = Arc::new(server);
    let questions = (0..100).map(|_| {
        let server = Arc::clone(&server);
        tokio::spawn(async move { ask(&server, "/chat", &json!({"query": QUESTION})).await.1["answer"].clone() })
    });
    for answer in futures_util::future::join_all(questions).await {
        assert_eq!(answer.unwrap(), "Answer 1 [1].");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_is_not_good_enough_is_not_given_again() {
    let (server, _) = server("").await;
    let body = json!({"query": QUESTION});
    // A down vote removes the answer, and its question gets no other one from the cache.
    let (_, answer) = ask(&server, "/chat", &body).await;
    server.post("/feedback", &json!({"answer_id": answer["answer_id"], "rating": "down"})).await.ok();
    for _ in 0..2 {
        assert_eq!(ask(&server, "/chat", &body).await.0, "miss");
    }
    // Also after the cache was emptied, as by a restart.
    server.post("/cache/purge", &json!({"index_name": "docs"})).await.ok();
    for _ in 0..2 {
        assert_eq!(ask(&server, "/chat", &body).await.0, "miss");
    }
    // The request does not want it, or asks for an explanation.
    for more in [json!({"pipeline": {"cache": false}}), json!({"explain": true})] {
        let mut body = json!({"query": "What do cats do all day?"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        for _ in 0..2 {
            assert_eq!(ask(&server, "/chat", &body).await.0, "bypass");
        }
    }
    // Its chunks are not near enough.
    let (strict, _) = self::server("cache: {minSimilarity: 0.99}").await;
    for _ in 0..2 {
        assert_eq!(ask(&strict, "/chat", &body).await.0, "miss");
    }
}

#[tokio::test]
async fn a_withdrawn_down_vote_lets_answers_be_kept_again() {
    let (server, _) = server("").await;
    let answer = ask(&server, "/chat", &json!({"query": QUESTION})).await.1;
    let id = answer["answer_id"].as_str().unwrap();
    let rate = async |rating: &str| server.post("/feedback", &json!({"answer_id": id, "rating": rating})).await.ok();
    let twice = async || {
        let body = json!({"query": QUESTION});
        [ask(&server, "/chat", &body).await.0, ask(&server, "/chat", &body).await.0]
    };
    rate("down").await;
    assert_eq!(twice().await, ["miss", "miss"]);
    rate("up").await;
    assert_eq!(twice().await, ["miss", "hit"]);
    rate("down").await;
    assert_eq!(twice().await, ["miss", "miss"]);
    server.delete(&format!("/feedback/{id}")).await.ok();
    assert_eq!(twice().await, ["miss", "hit"]);
    // The down vote of another voter still holds.
    rate("down").await;
    let other = NewVote {
        answer_id: id.to_owned(),
        voter: "user:other".to_owned(),
        rating: Rating::Down,
        comment: None,
        voted_at_ms: jiff::Timestamp::now().as_millisecond(),
    };
    let store = server.app.loaded().unwrap().stores.feedback().unwrap();
    store.vote(Caller::anonymous(None).owner(), other).await.unwrap();
    rate("up").await;
    assert_eq!(twice().await, ["miss", "miss"]);
}

#[tokio::test]
async fn a_follow_up_is_looked_up_by_its_standalone_question() {
    let (server, asked) = server("").await;
    ask(&server, "/chat", &json!({"query": QUESTION})).await;
    let in_session = |question: &str| json!({"query": question, "session_id": "session-1"});
    ask(&server, "/chat", &in_session("What do cats do all day long?")).await;
    let (cache, answer) = ask(&server, "/chat", &in_session("And when is it due?")).await;
    assert_eq!((cache.as_str(), &answer["answer"]), ("hit", &json!("Answer 1 [1].")));
    assert_eq!(answer["condensed_question"], QUESTION);
    let history = server.get("/chat/history/session-1").await.ok();
    assert_eq!(history["messages"][3]["content"], "Answer 1 [1].");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// A language model whose answers about taxes each wait for a permit of the gate.
async fn gated(gate: &Arc<Semaphore>) -> Upstream {
    let gate = Arc::clone(gate);
    Upstream::scripted(move |body| {
        let is_slow = body["messages"].to_string().contains("tax");
        let gate = Arc::clone(&gate);
        let answered = async move {
            if is_slow {
                gate.acquire().await.unwrap().forget();
            }
            let mut reply = completion("So [1].");
            reply["choices"][0]["finish_reason"] = json!("stop");
            Ok::<_, std::convert::Infallible>(reply.to_string())
        };
        let body = axum::body::Body::from_stream(futures_util::stream::once(answered));
        Response::builder().header("content-type", "application/json").body(body).unwrap()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_questions_do_not_wait_for_an_answer_that_is_not_kept() {
    let gate = Arc::new(Semaphore::new(0));
    let upstream = gated(&gate).await;
    let settings = format!(
        "{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 1.1}}, cache: {{minSimilarity: 0.99}}, \
         endpoints: {{chat: {{reformulate: false}}}}}}",
        upstream.url
    );
    let server = Arc::new(Server::start(&settings).await);
    server.add("docs", &FACTS).await;
    let asked: Vec<_> = (0..3)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { ask(&server, "/chat", &json!({"query": QUESTION})).await.0 })
        })
        .collect();
    let all_asked = async {
        while upstream.received().len() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_asked).await.expect("no question waits for another's answer");
    gate.add_permits(3);
    for question in asked {
        assert_eq!(question.await.unwrap(), "miss");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_for_an_equal_question_take_no_turn_from_others() {
    let gate = Arc::new(Semaphore::new(0));
    let upstream = gated(&gate).await;
    let settings = format!(
        "{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 1.1}}, cache: {{minSimilarity: 0.5}}, \
         endpoints: {{chat: {{reformulate: false}}}}, limits: {{maxRunningChats: 1}}}}",
        upstream.url
    );
    let server = Arc::new(Server::start(&settings).await);
    server.add("docs", &FACTS).await;
    let asking = |question: &'static str| {
        let server = Arc::clone(&server);
        tokio::spawn(async move { ask(&server, "/chat", &json!({"query": question})).await })
    };
    let first = asking(QUESTION);
    while upstream.received().is_empty() {
        tokio::task::yield_now().await;
    }
    let waiting: Vec<_> = (0..3).map(|_| asking(QUESTION)).collect();
    let others = async {
        // Asked several times, so that the equal questions have had their turn.
        for question in ["What do cats do all day?", "Where do cats sleep?", "Do cats eat mice?"] {
            assert_eq!(asking(question).await.unwrap().0, "miss", "{question}");
        }
    };
    tokio::time::timeout(Duration::from_secs(10), others).await.expect("others are answered");
    gate.add_permits(1);
    assert_eq!(first.await.unwrap().0, "miss");
    for waited in waiting {
        assert_eq!(waited.await.unwrap().0, "hit");
    }
}
