//! What the server refuses.

use lapin::ExchangeKind;
use lapin::options::ExchangeDeleteOptions;
use lapin::types::{AMQPValue, FieldTable, LongString};
use ragengine_events::EventOptions;

use crate::LARGEST_BYTES;
use crate::consumer::{Listener, next_number, numbers};
use crate::publisher::{Publisher, options, question};
use crate::test_rabbitmq::{READER, TestRabbitMq};

pub async fn a_wrong_password_is_told(server: &TestRabbitMq) {
    let publisher = Publisher::start(&EventOptions { password: Some("s3cret".to_owned()), ..options(server, "a") });
    publisher.ask(0..2);
    publisher.has_problem("user or the password").await;
    assert!(!publisher.events.problem().unwrap().contains("s3cret"));
    assert_eq!((publisher.waiting(), publisher.is_connected()), (2, false));
    let other = EventOptions { url: format!("{}/missing", options(server, "a").url), ..options(server, "a") };
    Publisher::start(&other).has_problem("virtual host").await;
}

pub async fn another_exchange_of_this_name_is_told(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    listener.exchange("fan", ExchangeKind::Fanout).await;
    let publisher = Publisher::start(&options(server, "fan"));
    publisher.ask(0..2);
    publisher.has_problem("durable topic exchange").await;
    assert!(!publisher.is_connected());
    listener.channel.exchange_delete("fan".into(), ExchangeDeleteOptions::default()).await.unwrap();
    publisher.until("unrouted", || publisher.ended("unrouted") == 2).await;
    assert_eq!(publisher.events.problem(), None);
}

pub async fn missing_rights_are_told(server: &TestRabbitMq) {
    let reader = |exchange| EventOptions { url: server.url(READER), ..options(server, exchange) };
    Publisher::start(&reader("public")).has_problem("\"configure\"").await;
    let publisher = Publisher::start(&reader("private"));
    publisher.until("connected", || publisher.is_connected()).await;
    assert_eq!(publisher.events.problem(), None);
    publisher.ask(0..2);
    publisher.has_problem("\"write\"").await;
    publisher.until("sent again", || publisher.sent_again() > 20).await;
    // A new connection does not end the problem, and nothing is given up.
    assert!(publisher.events.problem().unwrap().contains("\"write\""));
    assert_eq!((publisher.waiting(), publisher.ended("refused")), (2, 0));
}

pub async fn a_deleted_exchange_is_made_again(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    let publisher = Publisher::start(&options(server, "deleted"));
    publisher.until("connected", || publisher.is_connected()).await;
    listener.channel.exchange_delete("deleted".into(), ExchangeDeleteOptions::default()).await.unwrap();
    publisher.ask(0..2);
    publisher.until("unrouted", || publisher.ended("unrouted") == 2).await;
    assert_eq!(publisher.events.problem(), None);
}

pub async fn an_event_that_is_too_large_does_not_stop_others(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    listener.queue("large", FieldTable::default()).await;
    let publisher = Publisher::start(&options(server, "large"));
    let mut large = question(0);
    large.query = "x".repeat(LARGEST_BYTES);
    publisher.ask(1..3);
    publisher.events.publish(large);
    publisher.ask(3..6);
    publisher.until("refused", || publisher.ended("refused") == 1).await;
    publisher.has_sent(5).await;
    assert_eq!(publisher.events.problem(), None);
    let mut arrived = numbers(&mut listener.read("large").await, 5).await;
    arrived.sort_unstable();
    assert_eq!(arrived, [1, 2, 3, 4, 5]);
}

pub async fn a_full_queue_gets_the_event_later(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
    arguments.insert("x-overflow".into(), AMQPValue::LongString(LongString::from("reject-publish")));
    listener.queue("full", arguments).await;
    let publisher = Publisher::start(&options(server, "full"));
    publisher.ask(0..1);
    publisher.has_sent(1).await;
    publisher.ask(1..2);
    publisher.until("sent again", || publisher.sent_again() > 0).await;
    let mut consumer = listener.read("full").await;
    assert_eq!((next_number(&mut consumer).await, next_number(&mut consumer).await), (0, 1));
    publisher.has_sent(2).await;
    assert_eq!(publisher.ended("refused"), 0);
}
