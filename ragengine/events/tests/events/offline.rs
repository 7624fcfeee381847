//! Without a RabbitMQ server.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use ragengine_events::{EventMetrics, EventOptions, Events};
use ragengine_metrics::Builder;

use crate::publisher::{Publisher, question};

fn options(port: u16) -> EventOptions {
    let url = format!("amqp://ann@127.0.0.1:{port}");
    EventOptions { url, password: None, exchange: "a".to_owned(), source: "/a".to_owned() }
}

/// A port that does not answer, as long as the listener exists.
fn silent() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn the_oldest_events_are_dropped_and_counted() {
    let (listener, port) = silent();
    drop(listener);
    let publisher = Publisher::start(&options(port));
    publisher.has_problem("nothing listens").await;
    let began = Instant::now();
    publisher.ask(0..1_100);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((publisher.ended("dropped"), publisher.waiting()), (100, 1_000));
    let mut large = question(0);
    large.query = "x".repeat(17 * 1_024 * 1_024);
    publisher.events.publish(large);
    assert_eq!((publisher.ended("dropped"), publisher.waiting()), (101, 1_000));
    let began = Instant::now();
    publisher.events.shut_down(Duration::from_millis(100)).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    publisher.ask(0..1);
    assert_eq!((publisher.ended("dropped"), publisher.waiting()), (1_102, 0));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_told() {
    let (_listener, port) = silent();
    let publisher = Publisher::start(&options(port));
    publisher.ask(0..3);
    publisher.has_problem("did not answer within 5 s").await;
    assert_eq!((publisher.waiting(), publisher.is_connected()), (3, false));
}

#[tokio::test]
async fn an_end_without_events_is_at_once() {
    let (_listener, port) = silent();
    let publisher = Publisher::start(&options(port));
    let began = Instant::now();
    publisher.events.shut_down(Duration::from_secs(60)).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn invalid_options_are_refused() {
    let mut builder = Builder::new(Duration::from_secs(1)).unwrap();
    let metrics = EventMetrics::new(&mut builder).unwrap();
    let options = EventOptions { url: "http://a".to_owned(), ..options(1) };
    assert_eq!(Events::start(&options, metrics).err().unwrap().kind(), "invalid_url");
}
