use std::error::Error;
use std::io;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;

use redis::{ErrorKind, RedisError};

use crate::remote::{Failure, RemoteError};

const NO_ENCRYPTION: &str = "the encrypted connection failed: check redis.url and the server's certificate";

const NO_ACCESS: &str = "it refuses the user or the password: check redis.url and redis.password";

/// The codes of the server's errors. Older servers have the code of a script's error in the middle of its text.
const CODES: [&str; 15] = [
    "NOAUTH",
    "WRONGPASS",
    "LOADING",
    "READONLY",
    "MASTERDOWN",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "NOPERM",
    "BUSY",
    "MOVED",
    "CLUSTERDOWN",
    "CROSSSLOT",
    "WRONGTYPE",
    "UNKILLABLE",
];

impl From<RedisError> for RemoteError {
    fn from(error: RedisError) -> Self {
        Self::Server(of(&error))
    }
}

/// The failure behind an error of the client.
pub(super) fn of(error: &RedisError) -> Failure {
    match error.kind() {
        ErrorKind::AuthenticationFailed => Failure::Unreachable(NO_ACCESS.to_owned()),
        ErrorKind::Io => Failure::Unreachable(of_io(error).to_owned()),
        ErrorKind::Parse => Failure::Unreachable("the server does not speak Redis's protocol as expected".to_owned()),
        ErrorKind::InvalidClientConfig => {
            Failure::Unreachable("the connection's options cannot be used: check redis.url".to_owned())
        }
        ErrorKind::UnexpectedReturnType => Failure::Damaged("a reply is not as expected".to_owned()),
        ErrorKind::Server(_) | ErrorKind::Extension => {
            of_code(error.code().unwrap_or_default(), error.detail().unwrap_or_default())
        }
        _ => Failure::Other("an operation failed".to_owned()),
    }
}

/// The failure of a server's error.
fn of_code(code: &str, detail: &str) -> Failure {
    let is_word = |word: &str| detail.split(|c: char| !c.is_ascii_uppercase()).any(|part| part == word);
    let known = CODES.iter().find(|known| **known == code).or_else(|| CODES.iter().find(|known| is_word(known)));
    let code = known.copied().unwrap_or("ERR");
    let with_code = |words: &str| format!("{words} ({code})");
    match code {
        "NOAUTH" | "WRONGPASS" => Failure::Unreachable(with_code(NO_ACCESS)),
        "LOADING" => Failure::Unreachable(with_code("it is reading its data after a start")),
        // Another connection may lead to the server that took over.
        "READONLY" => Failure::Unreachable(with_code("it is a read-only replica: redis.url must name the primary")),
        "MASTERDOWN" => Failure::Unreachable(with_code("it is a replica without a connection to its primary")),
        "OOM" => Failure::Refused(with_code("its memory is full: raise maxmemory")),
        "MISCONF" => Failure::Refused(with_code("it takes no writes because it cannot save them: check its disk")),
        "NOREPLICAS" => Failure::Refused(with_code("it takes no writes because it has too few replicas")),
        "NOPERM" => Failure::Refused(with_code("the user lacks a right to commands or keys")),
        "BUSY" | "UNKILLABLE" => Failure::NoAnswer(with_code("a script occupies it")),
        "MOVED" | "CLUSTERDOWN" | "CROSSSLOT" => {
            Failure::Refused(with_code("it is a part of a Redis Cluster: use a single server, or a proxy"))
        }
        "WRONGTYPE" => Failure::Damaged(with_code("a key is of another type than expected")),
        // The client drops the code of a refused choice of a database.
        _ if detail.contains("DB index") => Failure::Unreachable(with_code("there is no database of this number")),
        _ if detail.contains("Authentication required") => Failure::Unreachable(NO_ACCESS.to_owned()),
        _ => Failure::Damaged("a command failed: a value is not as expected, or the server is too old".to_owned()),
    }
}

fn of_io(error: &RedisError) -> &'static str {
    // The client's errors share their source.
    let shared = error.source().and_then(|source| source.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    let source = shared.and_then(|shared| shared.downcast_ref::<io::Error>());
    match source.map(io::Error::kind) {
        Some(IoKind::ConnectionRefused) => "nothing listens at its address, or it does not run",
        Some(IoKind::HostUnreachable | IoKind::NetworkUnreachable) => "its host cannot be reached",
        Some(IoKind::TimedOut) => "it did not answer in time",
        // An error of the handshake, such as a certificate that is not trusted.
        Some(IoKind::InvalidData) => NO_ENCRYPTION,
        None
        | Some(
            IoKind::ConnectionReset
            | IoKind::ConnectionAborted
            | IoKind::BrokenPipe
            | IoKind::UnexpectedEof
            | IoKind::NotConnected,
        ) => "the connection broke off",
        // The resolver's errors have no special kind.
        Some(_) => "the connection failed: check the host's name in redis.url, and the network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_words_and_an_error() {
        let of_io = |kind: IoKind| RedisError::from(io::Error::from(kind));
        for (error, expected, kind, needs_connection) in [
            (of_io(IoKind::ConnectionRefused), "does not run", "unavailable", true),
            (of_io(IoKind::UnexpectedEof), "broke off", "unavailable", true),
            (of_io(IoKind::InvalidData), "certificate", "unavailable", true),
            (io::Error::other("failed to lookup address").into(), "host's name", "unavailable", true),
            ((ErrorKind::AuthenticationFailed, "x").into(), "redis.password", "unavailable", true),
            ((ErrorKind::Parse, "x").into(), "protocol", "unavailable", true),
            ((ErrorKind::Io, "x").into(), "broke off", "unavailable", true),
            ((ErrorKind::UnexpectedReturnType, "x").into(), "reply", "damaged", false),
            ((ErrorKind::Client, "x").into(), "operation", "damaged", false),
        ] {
            let failure = of(&error);
            assert!(failure.words().contains(expected), "{error:?}: {}", failure.words());
            assert_eq!((failure.error().kind(), failure.needs_connection()), (kind, needs_connection), "{error:?}");
        }
    }

    #[test]
    fn the_codes_of_the_server_have_words() {
        for (code, detail, expected, kind, needs_connection) in [
            ("NOAUTH", "Authentication required.", "redis.password", "unavailable", true),
            ("WRONGPASS", "invalid username-password pair", "redis.password", "unavailable", true),
            ("LOADING", "Redis is loading", "reading its data", "unavailable", true),
            ("READONLY", "You can't write", "primary", "unavailable", true),
            ("OOM", "command not allowed", "maxmemory", "unavailable", false),
            ("MISCONF", "Redis is configured to save", "disk", "unavailable", false),
            ("NOPERM", "no permissions", "right", "unavailable", false),
            ("BUSY", "Redis is busy", "script", "unavailable", false),
            ("MOVED", "1 10.0.0.1:6379", "Cluster", "unavailable", false),
            ("WRONGTYPE", "Operation against a key", "another type", "damaged", false),
            (
                "ERR",
                "Error running script: @user_script: 1: -OOM command not allowed",
                "maxmemory",
                "unavailable",
                false,
            ),
            ("ERR", "DB index is out of range", "number", "unavailable", true),
            ("ERR", "Authentication required.", "redis.password", "unavailable", true),
            ("ERR", "value is not an integer: s3cret", "not as expected", "damaged", false),
        ] {
            let failure = of_code(code, detail);
            assert!(failure.words().contains(expected), "{code}: {}", failure.words());
            assert!(!failure.words().contains("s3cret"), "{}", failure.words());
            assert_eq!((failure.error().kind(), failure.needs_connection()), (kind, needs_connection), "{code}");
        }
    }
}
