//! What arrives.

use std::time::Duration;

use lapin::types::{AMQPValue, FieldTable};
use ragengine_events::{QuerySubmitted, ResponseGenerated};
use serde_json::{Value, json};

use crate::consumer::{Listener, next, numbers};
use crate::publisher::{Publisher, options};
use crate::test_rabbitmq::TestRabbitMq;

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

pub async fn both_events_arrive_as_specified(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    listener.queue("both", FieldTable::default()).await;
    let publisher = Publisher::start(&options(server, "both"));
    let known = |text: &str| Some(text.to_owned());
    publisher.events.publish_traced(
        QuerySubmitted {
            query: "Größe?".to_owned(),
            user_id: known("user:ann"),
            session_id: None,
            model_id: known("m"),
        },
        Some(TRACE),
    );
    publisher.events.publish(ResponseGenerated {
        query: "Größe?".to_owned(),
        response: "2 m [1]".to_owned(),
        model_id: known("m"),
        latency_ms: Some(12),
        citation_count: Some(1),
        retrieval_count: Some(8),
        user_id: None,
    });
    publisher.has_sent(2).await;
    assert!(publisher.is_connected());
    assert_eq!(publisher.events.problem(), None);
    let mut consumer = listener.read("both").await;
    let mut ids = Vec::new();
    for (key, kind, trace, fields) in [
        (
            "analytics.query.submitted",
            "dev.ragengine.query.submitted",
            Some(TRACE),
            json!({"query": "Größe?", "user_id": "user:ann", "session_id": null, "model_id": "m"}),
        ),
        (
            "analytics.response.generated",
            "dev.ragengine.response.generated",
            None,
            json!({
                "query": "Größe?", "response": "2 m [1]", "model_id": "m", "latency_ms": 12, "citation_count": 1,
                "retrieval_count": 8, "user_id": null,
            }),
        ),
    ] {
        let delivery = next(&mut consumer).await;
        assert_eq!((delivery.exchange.as_str(), delivery.routing_key.as_str()), ("both", key));
        assert_eq!(serde_json::from_slice::<Value>(&delivery.data).unwrap(), fields);
        let properties = &delivery.properties;
        assert_eq!(properties.content_type().as_ref().unwrap().as_str(), "application/json");
        assert_eq!(*properties.delivery_mode(), Some(2));
        let headers = properties.headers().as_ref().unwrap();
        let text = |name: &str| match headers.inner().get(name) {
            Some(AMQPValue::LongString(text)) => Some(String::from_utf8(text.as_bytes().to_vec()).unwrap()),
            other => other.map(|other| panic!("{name}: {other:?}")),
        };
        let id = properties.message_id().as_ref().unwrap().as_str();
        for (name, expected) in [
            ("cloudEvents_specversion", Some("1.0")),
            ("cloudEvents_id", Some(id)),
            ("cloudEvents_source", Some("/ragengine/team.docs")),
            ("cloudEvents_type", Some(kind)),
            ("traceparent", trace),
        ] {
            assert_eq!(text(name).as_deref(), expected, "{name}");
        }
        let time: jiff::Timestamp = text("cloudEvents_time").unwrap().parse().unwrap();
        let now_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        assert!(now_ms.abs_diff(u128::try_from(time.as_millisecond()).unwrap()) < 60_000, "{time}");
        assert_eq!(headers.inner().len(), 5 + usize::from(trace.is_some()));
        ids.push(id.to_owned());
    }
    assert_ne!(ids[0], ids[1]);
}

pub async fn nobody_need_listen(server: &TestRabbitMq) {
    let publisher = Publisher::start(&options(server, "alone"));
    publisher.ask(0..3);
    publisher.until("unrouted", || publisher.ended("unrouted") == 3 && publisher.waiting() == 0).await;
    assert_eq!((publisher.events.problem(), publisher.sent_again()), (None, 0));
}

pub async fn the_end_waits_for_confirmations(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    listener.queue("end", FieldTable::default()).await;
    let publisher = Publisher::start(&options(server, "end"));
    publisher.ask(0..500);
    publisher.events.shut_down(Duration::from_secs(40)).await;
    assert_eq!((publisher.ended("confirmed"), publisher.ended("dropped")), (500, 0));
    assert!(!publisher.is_connected());
    let all: Vec<usize> = (0..500).collect();
    assert_eq!(numbers(&mut listener.read("end").await, 500).await, all);
}
