//! Another program, which reads events.

use std::time::Duration;

use futures_util::StreamExt as _;
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties, Consumer, ExchangeKind};
use tokio::time::timeout;

use crate::test_rabbitmq::{PASSWORD, TestRabbitMq, USER};

/// An event arrives within this time.
const LIMIT: Duration = Duration::from_secs(40);

pub struct Listener {
    pub channel: Channel,
    _connection: Connection,
}

impl Listener {
    pub async fn connect(server: &TestRabbitMq) -> Self {
        let mut uri: AMQPUri = server.url(USER).parse().unwrap();
        uri.authority.userinfo.password = PASSWORD.to_owned();
        let connection = Connection::connect_uri(uri, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        Self { channel, _connection: connection }
    }

    /// Declares an exchange.
    pub async fn exchange(&self, name: &str, kind: ExchangeKind) {
        let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        self.channel.exchange_declare(name.into(), kind, options, FieldTable::default()).await.unwrap();
    }

    /// Makes a durable queue of all events, with the name of their exchange.
    pub async fn queue(&self, exchange: &str, arguments: FieldTable) {
        self.exchange(exchange, ExchangeKind::Topic).await;
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel.queue_declare(exchange.into(), options, arguments).await.unwrap();
        let (key, options) = ("analytics.#".into(), QueueBindOptions::default());
        self.channel.queue_bind(exchange.into(), exchange.into(), key, options, FieldTable::default()).await.unwrap();
    }

    /// Reads the queue's events.
    pub async fn read(&self, queue: &str) -> Consumer {
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        self.channel.basic_consume(queue.into(), "".into(), options, FieldTable::default()).await.unwrap()
    }
}

pub async fn next(consumer: &mut Consumer) -> Delivery {
    timeout(LIMIT, consumer.next()).await.expect("an event").unwrap().unwrap()
}

/// The number in the next question.
pub async fn next_number(consumer: &mut Consumer) -> usize {
    let body: serde_json::Value = serde_json::from_slice(&next(consumer).await.data).unwrap();
    body["query"].as_str().unwrap().parse().unwrap()
}

/// The numbers of this many questions, without those that came before.
pub async fn numbers(consumer: &mut Consumer, count: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    while numbers.len() < count {
        let number = next_number(consumer).await;
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers
}
