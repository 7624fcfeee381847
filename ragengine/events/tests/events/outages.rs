//! A server that ends, or does not answer.

use std::time::{Duration, Instant};

use lapin::types::FieldTable;

use crate::consumer::{Listener, numbers};
use crate::publisher::{Publisher, options};
use crate::test_rabbitmq::TestRabbitMq;

/// Publishing an event takes less time than this.
const AT_ONCE: Duration = Duration::from_millis(200);

fn ask_at_once(publisher: &Publisher, range: std::ops::Range<usize>) {
    for number in range {
        let began = Instant::now();
        publisher.ask([number]);
        assert!(began.elapsed() < AT_ONCE, "{number}");
    }
}

pub async fn events_arrive_after_a_restart(server: &mut TestRabbitMq) {
    Listener::connect(server).await.queue("restart", FieldTable::default()).await;
    let publisher = Publisher::start(&options(server, "restart"));
    ask_at_once(&publisher, 0..10);
    publisher.has_sent(10).await;
    // Some are on their way then.
    ask_at_once(&publisher, 10..300);
    server.kill();
    ask_at_once(&publisher, 300..500);
    publisher.has_problem("does not run").await;
    assert!(!publisher.is_connected() && publisher.waiting() >= 200);
    tokio::task::block_in_place(|| server.restart());
    publisher.has_sent(500).await;
    assert_eq!((publisher.events.problem(), publisher.ended("dropped")), (None, 0));
    let listener = Listener::connect(server).await;
    let all: Vec<usize> = (0..500).collect();
    assert_eq!(numbers(&mut listener.read("restart").await, 500).await, all);
}

pub async fn a_server_that_does_not_answer_gets_them_later(server: &TestRabbitMq) {
    let listener = Listener::connect(server).await;
    listener.queue("frozen", FieldTable::default()).await;
    let publisher = Publisher::start(&options(server, "frozen"));
    ask_at_once(&publisher, 0..1);
    publisher.has_sent(1).await;
    server.freeze(true);
    ask_at_once(&publisher, 1..900);
    publisher.has_problem("confirm an event within").await;
    server.freeze(false);
    publisher.has_sent(900).await;
    assert_eq!(publisher.events.problem(), None);
    let all: Vec<usize> = (0..900).collect();
    assert_eq!(numbers(&mut listener.read("frozen").await, 900).await, all);
}
