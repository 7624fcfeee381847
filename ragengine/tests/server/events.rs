//! Events about questions and answers, on a real RabbitMQ.

#[path = "../../events/tests/events/consumer.rs"]
#[expect(dead_code, reason = "the tests of the crate `ragengine-events` use the rest")]
mod consumer;

use std::fs;

use lapin::types::FieldTable;
use serde_json::{Value, json};

use self::consumer::{Listener, next};
use crate::support::upstream::{Upstream, completion, json_reply};
use crate::support::{FACTS, Server, settings};
use crate::test_rabbitmq::{PASSWORD, TestRabbitMq, USER};

async fn server(broker: &TestRabbitMq) -> Server {
    let upstream = Upstream::scripted(|_| {
        let mut reply = completion("In May [1].");
        reply["choices"][0]["finish_reason"] = json!("stop");
        json_reply(200, &reply)
    })
    .await;
    let data = tempfile::tempdir().unwrap();
    let password = data.path().join("password");
    fs::write(&password, PASSWORD).unwrap();
    let yaml = format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\nendpoints: {{chat: {{reformulate: false}}}}\n\
         events: {{url: '{}', password: {{file: {}}}}}\nstateNamespace: team.docs\n\
         cache: {{minSimilarity: 0.5}}",
        upstream.url,
        broker.url(USER),
        password.display()
    );
    let server = Server::start_in(settings(&data, &yaml)).await;
    server.add("docs", &FACTS).await;
    server
}

/// The routing key and the body of the next event.
async fn event(consumer: &mut lapin::Consumer) -> (String, Value) {
    let delivery = next(consumer).await;
    (delivery.routing_key.to_string(), serde_json::from_slice(&delivery.data).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_and_its_answer_are_events() {
    let mut broker = TestRabbitMq::start();
    let listener = Listener::connect(&broker).await;
    listener.queue("ragengine", FieldTable::default()).await;
    let mut consumer = listener.read("ragengine").await;
    let server = server(&broker).await;
    let question = "When is the annual tax return due?";
    let body = json!({"query": question, "session_id": "session-1"});
    server.post("/chat", &body).await.ok();
    let submitted = json!({"query": question, "user_id": null, "session_id": "session-1", "model_id": "served"});
    assert_eq!(event(&mut consumer).await, ("analytics.query.submitted".to_owned(), submitted));
    let (key, mut answered) = event(&mut consumer).await;
    assert!(answered["latency_ms"].is_u64() && answered["retrieval_count"].as_u64() > Some(0), "{answered}");
    let found = answered["retrieval_count"].clone();
    for measured in ["latency_ms", "retrieval_count"] {
        answered[measured] = json!(0);
    }
    let expected = json!({"query": question, "response": "In May [1].", "model_id": "served", "latency_ms": 0,
        "citation_count": 1, "retrieval_count": 0, "user_id": null});
    assert_eq!((key.as_str(), answered), ("analytics.response.generated", expected));

    // An answer that is given again has the same numbers.
    server.until_background_ended().await;
    let again = server.post("/chat", &json!({"query": question})).await;
    assert_eq!(again.headers["x-cache"], "hit");
    assert_eq!(event(&mut consumer).await.0, "analytics.query.submitted");
    let (_, answered) = event(&mut consumer).await;
    assert_eq!((&answered["citation_count"], &answered["retrieval_count"]), (&json!(1), &found));

    // A stream has the same events. A request can turn them off.
    server.post("/chat", &json!({"query": question, "stream": true, "pipeline": {"events": false}})).await;
    server.post("/query", &json!({"query": question, "stream": true})).await;
    let (key, submitted) = event(&mut consumer).await;
    assert_eq!((key.as_str(), &submitted["model_id"]), ("analytics.query.submitted", &json!("served")));
    assert!(submitted["session_id"].is_string(), "the session began with this question: {submitted}");
    let (key, answered) = event(&mut consumer).await;
    assert_eq!((key.as_str(), &answered["citation_count"]), ("analytics.response.generated", &Value::Null));

    // An outage does not block answers.
    broker.kill();
    server.post("/query", &json!({"query": question})).await.ok();
    let mut problems = Value::Null;
    for _ in 0..600 {
        problems = server.get("/status").await.ok()["problems"].clone();
        let of_events = problems.as_array().unwrap().iter().find(|problem| problem["kind"] == "events_failed");
        if let Some(problem) = of_events {
            assert!(!problem["detail"].as_str().unwrap().contains(PASSWORD), "{problem}");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the status does not show the outage: {problems}");
}
