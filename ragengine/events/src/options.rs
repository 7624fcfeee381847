use std::fmt;

use lapin::uri::{AMQPScheme, AMQPUri};

use crate::EventsError;

/// The interval in which server and client must hear from each other, in seconds.
const HEARTBEAT_SECONDS: u16 = 20;

/// The largest part of a message that is sent at once, in bytes. The client's buffers have 64 times this size.
const FRAME_BYTES: u32 = 32 * 1_024;

/// The longest name of an exchange, in bytes.
const EXCHANGE_BYTES: usize = 127;

/// The longest source of events, in bytes. The headers of a message must fit into one part of it.
const SOURCE_BYTES: usize = 1_024;

/// The longest user's name, in bytes: that of a short text of AMQP.
const SHORT_BYTES: usize = 255;

/// How to connect to RabbitMQ.
#[derive(Clone, PartialEq, Eq)]
pub struct EventOptions {
    /// The address, such as `amqp://USER@HOST:5672` or `amqps://USER@HOST:5671/VIRTUAL_HOST`, without a password.
    /// `amqps` is encrypted, with the certificates that the system trusts. Without a user it is `guest`.
    pub url: String,
    /// The user's password. Without, it is `guest`.
    pub password: Option<String>,
    /// The name of the topic exchange. It is made if it does not exist.
    pub exchange: String,
    /// The attribute `source` of CloudEvents, such as `/ragengine/NAMESPACE.NAME`.
    pub source: String,
}

impl fmt::Debug for EventOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("EventOptions");
        debug.field("exchange", &self.exchange).field("source", &self.source).finish_non_exhaustive()
    }
}

/// Valid options.
#[derive(Clone)]
pub(crate) struct Target {
    pub uri: AMQPUri,
    pub is_encrypted: bool,
    pub exchange: String,
    pub source: String,
}

impl EventOptions {
    /// Whether the options are valid.
    ///
    /// # Errors
    ///
    /// [`EventsError`], for the first that is invalid.
    pub fn check(&self) -> Result<(), EventsError> {
        self.target().map(drop)
    }

    pub(crate) fn target(&self) -> Result<Target, EventsError> {
        let uri = self.uri().map_err(EventsError::Url)?;
        check_exchange(&self.exchange).map_err(EventsError::Exchange)?;
        if self.source.trim().is_empty() || self.source.len() > SOURCE_BYTES {
            return Err(EventsError::Source);
        }
        let is_encrypted = uri.scheme == AMQPScheme::AMQPS;
        Ok(Target { uri, is_encrypted, exchange: self.exchange.clone(), source: self.source.clone() })
    }

    fn uri(&self) -> Result<AMQPUri, &'static str> {
        let scheme = self.url.split_once("://").filter(|(scheme, _)| ["amqp", "amqps"].contains(scheme));
        let (_, rest) = scheme.ok_or("it must begin with amqp:// or amqps://")?;
        if rest.contains(['?', '#']) {
            return Err("it must have no parameters");
        }
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains(':') {
            return Err("it must not contain a password");
        }
        if user.is_empty() && self.password.is_some() {
            return Err("it must name the user of the password: write amqp://USER@HOST:5672");
        }
        if address.is_empty() || address.starts_with(':') {
            return Err("it must name a host");
        }
        // The error is left out, because it may quote the URL.
        let mut uri: AMQPUri =
            self.url.parse().map_err(|_| "write amqp://USER@HOST:5672 or amqp://USER@HOST:5672/VIRTUAL_HOST")?;
        // The client's parser ignores such a host.
        if let Some((host, _)) = address.strip_prefix('[').and_then(|address| address.split_once(']')) {
            host.clone_into(&mut uri.authority.host);
        }
        // The name of a virtual host can be empty, but a slash at the end of a URL does not mean that.
        if uri.vhost.is_empty() {
            "/".clone_into(&mut uri.vhost);
        }
        if uri.authority.userinfo.username.len() > SHORT_BYTES || uri.vhost.len() > SHORT_BYTES {
            return Err("the user's name or the virtual host's is too long");
        }
        if let Some(password) = &self.password {
            uri.authority.userinfo.password.clone_from(password);
        }
        uri.query.heartbeat = Some(HEARTBEAT_SECONDS);
        uri.query.frame_max = Some(FRAME_BYTES);
        Ok(uri)
    }
}

fn check_exchange(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > EXCHANGE_BYTES {
        return Err("it must have 1 to 127 bytes");
    }
    if name.starts_with("amq.") {
        return Err("RabbitMQ reserves names that begin with amq.");
    }
    let is_allowed = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    if name.chars().all(is_allowed) { Ok(()) } else { Err("it may have letters, digits and - _ . : only") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> EventOptions {
        EventOptions {
            url: url.to_owned(),
            password: Some("s3cret/?#@".to_owned()),
            exchange: "ragengine".to_owned(),
            source: "/ragengine/team.docs".to_owned(),
        }
    }

    #[test]
    fn the_url_says_where_the_server_is() {
        for (url, host, port, vhost, user, is_encrypted) in [
            ("amqp://ann@mq.test", "mq.test", 5672, "/", "ann", false),
            ("amqp://ann@mq.test:1234/", "mq.test", 1234, "/", "ann", false),
            ("amqps://ann%40x@mq.test", "mq.test", 5671, "/", "ann@x", true),
            ("amqps://ann@10.0.0.1:7/docs", "10.0.0.1", 7, "docs", "ann", true),
            ("amqp://ann@[::1]:7/%2fa%2fb", "::1", 7, "/a/b", "ann", false),
            ("amqp://ann@[::1]", "::1", 5672, "/", "ann", false),
        ] {
            let target = options(url).target().unwrap();
            let authority = &target.uri.authority;
            assert_eq!((authority.host.as_str(), authority.port), (host, port), "{url}");
            assert_eq!((target.uri.vhost.as_str(), authority.userinfo.username.as_str()), (vhost, user), "{url}");
            assert_eq!((authority.userinfo.password.as_str(), target.is_encrypted), ("s3cret/?#@", is_encrypted));
        }
        let guest = EventOptions { password: None, ..options("amqp://mq.test") }.target().unwrap();
        let user = guest.uri.authority.userinfo;
        assert_eq!((user.username.as_str(), user.password.as_str()), ("guest", "guest"));
    }

    #[test]
    fn an_invalid_url_is_refused_without_being_quoted() {
        for (url, expected) in [
            ("http://ann@mq", "begin with"),
            ("ann@mq", "begin with"),
            ("AMQP://ann@mq", "begin with"),
            ("amqp://ann:s3cret@mq", "password"),
            ("amqp://:s3cret@mq", "password"),
            ("amqp://ann@mq?password=s3cret", "parameters"),
            ("amqps://ann@mq/#s3cret", "parameters"),
            ("amqp://mq", "name the user"),
            ("amqp://ann@", "name a host"),
            ("amqp://ann@:5672", "name a host"),
            ("amqp://ann@mq:s3cret", "write"),
            ("amqp://ann@[s3cret", "write"),
            ("amqp://ann@mq/%ff", "write"),
        ] {
            let error = options(url).check().unwrap_err();
            let words = error.to_string();
            assert_eq!(error.kind(), "invalid_url");
            assert!(words.contains(expected) && words.contains("events.url is invalid"), "{url}: {words}");
            assert!(!words.contains("s3cret") && !words.contains("ann"), "{url}: {words}");
        }
    }

    #[test]
    fn an_invalid_exchange_or_source_is_refused() {
        for (exchange, expected) in [
            ("", "1 to 127"),
            (&"a".repeat(128), "1 to 127"),
            ("amq.topic", "amq."),
            ("a b", "letters"),
            ("a/b", "letters"),
        ] {
            let error = EventOptions { exchange: exchange.to_owned(), ..options("amqp://a@mq") }.check().unwrap_err();
            assert!(error.to_string().contains(expected), "{exchange}: {error}");
            assert_eq!(error.kind(), "invalid_exchange");
        }
        for source in [" ", &"a".repeat(1_025)] {
            let error = EventOptions { source: source.to_owned(), ..options("amqp://a@mq") }.check().unwrap_err();
            assert_eq!(error.kind(), "invalid_source");
        }
        assert_eq!(options("amqp://a@mq").check(), Ok(()));
    }

    #[test]
    fn a_debug_text_has_no_secrets() {
        let words = format!("{:?}", options("amqp://ann@mq"));
        assert!(words.contains("ragengine") && !words.contains("s3cret") && !words.contains("ann"), "{words}");
    }
}
