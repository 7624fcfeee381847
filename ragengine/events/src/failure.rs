use std::io;
use std::io::ErrorKind as IoKind;

use lapin::{Error, ErrorKind};

const NO_ENCRYPTION: &str = "the encrypted connection failed: check events.url and the server's certificate";

const BROKE_OFF: &str = "the connection broke off";

/// What was done when a failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The server was asked for a connection.
    Connecting,
    /// The exchange was declared.
    Declaring,
    /// Events were sent, or waited for.
    Sending,
}

/// Why the connection with RabbitMQ cannot be made or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// In words for people, without secrets.
    pub words: String,
    pub cause: Cause,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The connection. The failure is over with the next one.
    Connection,
    /// The server takes no events. The failure is over when it confirms one.
    Server,
    /// The server refuses one of the events that are on their way.
    Event,
}

impl Failure {
    fn new(words: impl Into<String>, cause: Cause) -> Self {
        Self { words: words.into(), cause }
    }

    /// The server did not answer within this time.
    pub fn no_answer(step: Step, seconds: u64) -> Self {
        match step {
            Step::Sending => {
                let words = format!("it did not confirm an event within {seconds} s: its memory or disk may be full");
                Self::new(words, Cause::Server)
            }
            Step::Connecting | Step::Declaring => {
                Self::new(format!("it did not answer within {seconds} s"), Cause::Connection)
            }
        }
    }

    /// The server confirms nothing.
    pub fn no_confirms() -> Self {
        Self::new("it does not confirm events: it is not RabbitMQ, or too old", Cause::Server)
    }

    /// Whether it says only that there is no connection any more.
    pub fn is_unexplained(&self) -> bool {
        self.words == BROKE_OFF
    }

    /// The server cannot be connected, or the encryption fails.
    pub fn of_io(error: &io::Error) -> Self {
        let words = match error.kind() {
            IoKind::ConnectionRefused => "nothing listens at its address, or it does not run",
            IoKind::HostUnreachable | IoKind::NetworkUnreachable => "its host cannot be reached",
            IoKind::TimedOut => "it did not answer in time",
            // An error of the handshake, such as a certificate that is not trusted.
            IoKind::InvalidData => NO_ENCRYPTION,
            IoKind::ConnectionReset
            | IoKind::ConnectionAborted
            | IoKind::BrokenPipe
            | IoKind::UnexpectedEof
            | IoKind::NotConnected => BROKE_OFF,
            // The resolver's errors have no special kind.
            _ => "the connection failed: check the host's name in events.url, and the network",
        };
        Self::new(words, Cause::Connection)
    }

    /// An error of the client.
    pub fn of(error: &Error, step: Step) -> Self {
        match error.kind() {
            ErrorKind::IOError(error) => Self::of_io(error),
            ErrorKind::ProtocolError(error) => Self::of_code(error.get_id(), step),
            ErrorKind::MissingHeartbeatError => Self::new("it no longer answers", Cause::Connection),
            ErrorKind::ParsingError(_) | ErrorKind::InvalidProtocolVersion(_) => {
                Self::new("it does not speak AMQP 0-9-1: check the port in events.url", Cause::Connection)
            }
            ErrorKind::SerialisationError(_) => Self::new("an event cannot be sent", Cause::Event),
            _ => Self::new(BROKE_OFF, Cause::Connection),
        }
    }

    /// An error of the server, by its code. Its text is left out, because it may quote what is secret.
    fn of_code(code: u16, step: Step) -> Self {
        let (words, cause) = match (code, step) {
            (320, _) => ("it is stopping, or somebody closed the connection", Cause::Connection),
            (403, Step::Connecting) => {
                ("it refuses the user or the password: check events.url and events.password", Cause::Connection)
            }
            (403, Step::Declaring) => {
                ("the user may not make the exchange: it needs the right \"configure\" for it", Cause::Connection)
            }
            (403, Step::Sending) => {
                ("the user may not publish: it needs the right \"write\" for the exchange", Cause::Server)
            }
            (404, Step::Sending) => ("the exchange was deleted", Cause::Server),
            (404 | 530, _) => ("there is no such virtual host, or the user may not use it", Cause::Connection),
            (406, Step::Declaring) => (
                "the exchange exists, but is not a durable topic exchange: delete it, or choose another events.exchange",
                Cause::Connection,
            ),
            (311 | 406, Step::Sending) => ("it refuses an event: it may be too large", Cause::Event),
            (_, Step::Sending) => ("it reported an error", Cause::Server),
            _ => ("it reported an error", Cause::Connection),
        };
        Self::new(format!("{words} ({code})"), cause)
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::{AMQPError, AMQPErrorKind};

    use super::*;

    #[test]
    fn the_codes_of_the_server_have_words() {
        for (code, step, expected, cause) in [
            (320, Step::Sending, "stopping", Cause::Connection),
            (403, Step::Connecting, "events.password", Cause::Connection),
            (403, Step::Declaring, "configure", Cause::Connection),
            (403, Step::Sending, "write", Cause::Server),
            (404, Step::Sending, "deleted", Cause::Server),
            (530, Step::Connecting, "virtual host", Cause::Connection),
            (406, Step::Declaring, "topic exchange", Cause::Connection),
            (406, Step::Sending, "too large", Cause::Event),
            (311, Step::Sending, "too large", Cause::Event),
            (541, Step::Connecting, "an error (541)", Cause::Connection),
            (541, Step::Sending, "an error (541)", Cause::Server),
        ] {
            let kind = AMQPErrorKind::from_id(code).unwrap();
            let error = Error::from(ErrorKind::ProtocolError(AMQPError::new(kind, "s3cret".into())));
            let failure = Failure::of(&error, step);
            assert!(failure.words.contains(expected), "{code}: {}", failure.words);
            assert!(!failure.words.contains("s3cret"));
            assert_eq!(failure.cause, cause, "{code}");
        }
    }

    #[test]
    fn other_errors_have_words() {
        let of_io = |kind: IoKind| Error::from(io::Error::from(kind));
        for (error, expected) in [
            (of_io(IoKind::ConnectionRefused), "does not run"),
            (of_io(IoKind::HostUnreachable), "cannot be reached"),
            (of_io(IoKind::InvalidData), "certificate"),
            (of_io(IoKind::UnexpectedEof), "broke off"),
            (io::Error::other("s3cret").into(), "host's name"),
            (ErrorKind::MissingHeartbeatError.into(), "no longer answers"),
            (ErrorKind::ChannelsLimitReached.into(), "broke off"),
        ] {
            let failure = Failure::of(&error, Step::Sending);
            assert_eq!(failure.is_unexplained(), expected == "broke off");
            assert!(failure.words.contains(expected), "{error:?}: {}", failure.words);
            assert_eq!(failure.cause, Cause::Connection);
        }
        assert!(Failure::no_answer(Step::Sending, 10).words.contains("confirm an event within 10 s"));
        assert!(Failure::no_answer(Step::Connecting, 5).words.contains("answer within 5 s"));
    }
}
