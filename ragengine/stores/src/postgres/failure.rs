use std::io::ErrorKind;

use crate::remote::{Failure, RemoteError};

const NO_ENCRYPTION: &str = "the encrypted connection failed: check sslmode and sslrootcert in postgres.url, and the \
                             server's certificate";

impl From<sqlx::Error> for RemoteError {
    fn from(error: sqlx::Error) -> Self {
        Self::Server(of(&error))
    }
}

/// The failure behind an error of sqlx.
pub(super) fn of(error: &sqlx::Error) -> Failure {
    match error {
        sqlx::Error::Database(error) => of_code(error.code().as_deref().unwrap_or("unknown")),
        sqlx::Error::Io(error) => Failure::Unreachable(of_io(error.kind()).to_owned()),
        sqlx::Error::Tls(_) => Failure::Unreachable(NO_ENCRYPTION.to_owned()),
        sqlx::Error::PoolTimedOut => Failure::NoAnswer("no connection was free or could be made in time".to_owned()),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
            Failure::Unreachable("the connections were closed".to_owned())
        }
        sqlx::Error::Configuration(_) => {
            Failure::Unreachable("the connection's options cannot be used: check postgres.url".to_owned())
        }
        sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => {
            Failure::Unreachable("the server does not speak PostgreSQL's protocol as expected".to_owned())
        }
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound => {
            Failure::Damaged("a row is not as expected".to_owned())
        }
        _ => Failure::Other("an operation failed".to_owned()),
    }
}

/// The failure of an SQLSTATE.
fn of_code(code: &str) -> Failure {
    let with_code = |words: &str| format!("{words} (SQLSTATE {code})");
    match code {
        "28P01" | "28000" => Failure::Unreachable(with_code(
            "it refuses the user or the password: check postgres.url and postgres.password",
        )),
        "3D000" => Failure::Unreachable(with_code("there is no database of this name: create it")),
        "53300" => Failure::Unreachable(with_code("it has too many connections")),
        "57P03" => Failure::Unreachable(with_code("it is starting or stopping")),
        "57P01" | "57P02" | "57P05" => Failure::Unreachable(with_code("it ended the connection")),
        _ if code.starts_with("08") => Failure::Unreachable(with_code("the connection failed")),
        // The tables are gone: they are created again.
        "42P01" | "3F000" => Failure::Unreachable(with_code("its tables are missing")),
        "57014" | "55P03" => Failure::NoAnswer(with_code("a statement took too long")),
        "42501" => Failure::Refused(with_code("the user lacks a right: it must own its tables and may create them")),
        "25006" => Failure::Refused(with_code("it is read-only")),
        _ if code.starts_with("53") => Failure::Refused(with_code("it lacks disk space or memory")),
        "40001" | "40P01" => Failure::Refused(with_code("another transaction was in the way")),
        _ if code.starts_with("58") || code.starts_with("XX") => {
            Failure::Refused(with_code("the server has an error of its disk or its data"))
        }
        _ => Failure::Other(with_code("an operation failed")),
    }
}

fn of_io(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectionRefused => "nothing listens at its address, or it does not run",
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "its host cannot be reached",
        ErrorKind::TimedOut => "it did not answer in time",
        ErrorKind::NotFound => "a file of the connection is missing: its socket, or one that postgres.url names",
        // An error of the handshake, such as a certificate that is not trusted.
        ErrorKind::InvalidData => NO_ENCRYPTION,
        ErrorKind::PermissionDenied => "a file of the connection may not be read",
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof
        | ErrorKind::NotConnected => "the connection broke off",
        // The resolver's errors have no special kind.
        _ => "the connection failed: check the host's name in postgres.url, and the network",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_words_and_an_error() {
        for (error, expected, kind, needs_connection) in [
            (sqlx::Error::PoolTimedOut, "in time", "unavailable", false),
            (sqlx::Error::PoolClosed, "closed", "unavailable", true),
            (std::io::Error::from(ErrorKind::ConnectionRefused).into(), "does not run", "unavailable", true),
            (std::io::Error::other("failed to lookup address").into(), "host's name", "unavailable", true),
            (sqlx::Error::Tls("x".into()), "sslmode", "unavailable", true),
            (std::io::Error::from(ErrorKind::InvalidData).into(), "certificate", "unavailable", true),
            (sqlx::Error::RowNotFound, "row", "damaged", false),
            (sqlx::Error::InvalidArgument("x".into()), "operation", "damaged", false),
        ] {
            let failure = of(&error);
            assert!(failure.words().contains(expected), "{error:?}: {}", failure.words());
            assert_eq!((failure.error().kind(), failure.needs_connection()), (kind, needs_connection), "{error:?}");
        }
    }

    #[test]
    fn sqlstates_have_words() {
        for (code, expected, kind, needs_connection) in [
            ("28P01", "password", "unavailable", true),
            ("3D000", "create it", "unavailable", true),
            ("57P03", "starting", "unavailable", true),
            ("57P01", "ended", "unavailable", true),
            ("08006", "connection", "unavailable", true),
            ("42P01", "missing", "unavailable", true),
            ("57014", "too long", "unavailable", false),
            ("42501", "right", "unavailable", false),
            ("25006", "read-only", "unavailable", false),
            ("53100", "disk space", "unavailable", false),
            ("53300", "too many", "unavailable", true),
            ("40001", "transaction", "unavailable", false),
            ("XX001", "data", "unavailable", false),
            ("22P02", "22P02", "damaged", false),
        ] {
            let failure = of_code(code);
            assert!(failure.words().contains(expected), "{code}: {}", failure.words());
            assert_eq!((failure.error().kind(), failure.needs_connection()), (kind, needs_connection), "{code}");
        }
    }
}
