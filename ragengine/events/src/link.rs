//! A connection with RabbitMQ: with one channel, on which published messages are confirmed, and with the exchange.

mod carrier;
mod socket;
mod tls;

use std::pin::Pin;
use std::time::Duration;

use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use futures_util::{Stream, StreamExt as _};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions};
use lapin::tcp::AsyncTcpStream;
use lapin::types::{FieldTable, LongString, ShortString};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Error, Event, ExchangeKind,
    PublisherConfirm,
};
use parking_lot::Mutex;
use tokio::time::timeout;

use self::carrier::Carrier;
use self::socket::OpenSocket;
use crate::failure::{Failure, Step};
use crate::message::{CONTENT_TYPE, Message};
use crate::options::Target;

/// The time for connecting, and for each request to the server after that.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for sending an event, and for its confirmation.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for what is known about a lost connection.
const EXPLANATION_TIME: Duration = Duration::from_millis(100);

/// The server writes such messages to its disk.
const PERSISTENT: u8 = 2;

/// The name that RabbitMQ shows.
const NAME: &str = "ragengine-events";

/// A connection. It closes when this is dropped.
pub(crate) struct Link {
    channel: Channel,
    exchange: ShortString,
    happenings: Pin<Box<dyn Stream<Item = Event> + Send>>,
    // The last two close when they are dropped, in this order.
    _connection: Connection,
    _socket: OpenSocket,
}

/// How the server confirmed an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It has the event.
    Taken,
    /// It has the event, but no queue wants it.
    Unrouted,
    /// It could not take the event.
    Refused,
}

impl Link {
    /// Connects, and makes the exchange if it does not exist.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    pub async fn open(target: &Target) -> Result<Self, Failure> {
        let step = Step::Connecting;
        let (stream, socket) = in_time(step, async { Ok(socket::open(target).await) }).await??;
        let stream = Mutex::new(Some(stream));
        let hand_over = async move |_, _: Runtime<_>| {
            // The client does not ask twice: it is not told to connect again.
            let stream = stream.lock().take().ok_or(std::io::ErrorKind::NotConnected);
            stream.map(AsyncTcpStream::Plain).map_err(|kind| Error::from(std::io::Error::from(kind)))
        };
        let runtime = Runtime::new(RuntimeParts::new(Tokio::current(), Carrier::default()));
        let properties = ConnectionProperties::default().with_connection_name(NAME.into());
        let connecting = Connection::connector(target.uri.clone(), runtime, hand_over, properties);
        let connection = in_time(step, connecting).await?;
        let happenings = Box::pin(connection.events_listener());
        let channel = in_time(step, connection.create_channel()).await?;
        let exchange = ShortString::from(target.exchange.as_str());
        let options = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
        let declaring = channel.exchange_declare(exchange.clone(), ExchangeKind::Topic, options, FieldTable::default());
        in_time(Step::Declaring, declaring).await?;
        in_time(Step::Declaring, channel.confirm_select(ConfirmSelectOptions::default())).await?;
        Ok(Self { channel, exchange, happenings, _connection: connection, _socket: socket })
    }

    /// Sends an event. The future it returns is ready when the server has confirmed it, or after a time limit.
    ///
    /// # Errors
    ///
    /// When it cannot be sent.
    pub async fn send(
        &mut self,
        message: &Message,
    ) -> Result<impl Future<Output = Result<Verdict, Failure>> + Send + use<>, Failure> {
        // The server returns what no queue wants.
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let key = ShortString::from(message.routing_key);
        let sending =
            self.channel.basic_publish(self.exchange.clone(), key, options, &message.body, properties(message));
        let confirm = in_time(Step::Sending, sending).await?;
        Ok(verdict(confirm))
    }

    /// The same failure, or what the server said about it: it does so before it closes a connection.
    pub async fn explained(&mut self, failure: Failure) -> Failure {
        if failure.is_unexplained() { timeout(EXPLANATION_TIME, self.lost()).await.unwrap_or(failure) } else { failure }
    }

    /// Waits until the connection is lost.
    pub async fn lost(&mut self) -> Failure {
        loop {
            match self.happenings.next().await {
                Some(Event::Error(error)) => return Failure::of(&error, Step::Sending),
                Some(_) => {}
                None => return Failure::of_io(&std::io::ErrorKind::ConnectionAborted.into()),
            }
        }
    }
}

async fn verdict(confirm: PublisherConfirm) -> Result<Verdict, Failure> {
    match in_time(Step::Sending, confirm).await? {
        Confirmation::Ack(None) => Ok(Verdict::Taken),
        Confirmation::Ack(Some(_)) => Ok(Verdict::Unrouted),
        Confirmation::Nack(_) => Ok(Verdict::Refused),
        Confirmation::NotRequested => Err(Failure::no_confirms()),
    }
}

async fn in_time<T>(step: Step, work: impl Future<Output = lapin::Result<T>>) -> Result<T, Failure> {
    let limit = if step == Step::Sending { CONFIRM_TIMEOUT } else { CONNECT_TIMEOUT };
    match timeout(limit, work).await {
        Ok(done) => done.map_err(|error| Failure::of(&error, step)),
        Err(_) => Err(Failure::no_answer(step, limit.as_secs())),
    }
}

fn properties(message: &Message) -> BasicProperties {
    let mut headers = FieldTable::default();
    for (name, value) in &message.headers {
        headers.insert((*name).into(), LongString::from(value.as_str()).into());
    }
    BasicProperties::default()
        .with_content_type(CONTENT_TYPE.into())
        .with_delivery_mode(PERSISTENT)
        .with_message_id(message.id.as_str().into())
        .with_headers(headers)
}
