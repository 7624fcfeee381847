use std::fmt;
use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use crate::StoreError;

/// The parameters that a URL may have.
const PARAMETERS: [&str; 7] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "host", "port", "application_name"];

/// How to connect to a database.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The address, such as `postgres://USER@HOST:5432/DATABASE?sslmode=verify-full`, without a password.
    pub url: String,
    /// The user's password.
    pub password: Option<String>,
    /// The value of the first column of every row: `stateNamespace`.
    pub engine: String,
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresOptions").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl PostgresOptions {
    /// The options in the form of sqlx.
    ///
    /// # Errors
    ///
    /// [`StoreError::Url`].
    pub(super) fn parsed(&self) -> Result<PgConnectOptions, StoreError> {
        let invalid = |reason: &str| StoreError::Url { setting: "postgres.url", reason: reason.to_owned() };
        let scheme = self.url.split_once("://").filter(|(scheme, _)| ["postgres", "postgresql"].contains(scheme));
        let (_, rest) = scheme.ok_or_else(|| invalid("it must begin with postgres://"))?;
        let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = address.split_once('/').map_or(address, |(authority, _)| authority);
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        if user.contains(':') {
            return Err(invalid("it must not contain a password"));
        }
        let mut parameters = query.split('&').filter(|parameter| !parameter.is_empty());
        if !parameters.all(|parameter| PARAMETERS.contains(&parameter.split('=').next().unwrap_or_default())) {
            return Err(invalid(&format!("its parameters can be {}", PARAMETERS.join(", "))));
        }
        // The error is left out, because it may quote the URL.
        let options = PgConnectOptions::from_str(&self.url)
            .map_err(|_| invalid("write postgres://USER@HOST:5432/DATABASE, and check its parameters"))?;
        let options = match &self.password {
            Some(password) => options.password(password),
            None => options,
        };
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("ragengine"),
        };
        // No float is read, and connection poolers refuse this parameter.
        Ok(options.extra_float_digits(None).disable_statement_logging())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(url: &str) -> PostgresOptions {
        PostgresOptions { url: url.to_owned(), password: Some("s3cret".to_owned()), engine: "docs".to_owned() }
    }

    #[test]
    fn the_url_says_where_the_database_is() {
        let parsed = options("postgres://ann%40x@db.test:6543/rag?sslmode=verify-full").parsed().unwrap();
        assert_eq!((parsed.get_host(), parsed.get_port(), parsed.get_username()), ("db.test", 6543, "ann@x"));
        assert_eq!(parsed.get_database(), Some("rag"));
        assert!(matches!(parsed.get_ssl_mode(), sqlx::postgres::PgSslMode::VerifyFull));
    }

    #[test]
    fn an_invalid_url_is_refused_without_being_quoted() {
        for (url, expected) in [
            ("mysql://ann@db/rag", "begin with"),
            ("ann@db/rag", "begin with"),
            ("postgres://ann:s3cret@db/rag", "password"),
            ("postgres://ann@db/rag?password=s3cret", "parameters"),
            ("postgres://ann@db/rag?pasword=s3cret", "parameters"),
            ("postgres://ann@db/rag?sslmode=s3cret", "parameters"),
            ("postgres://ann@db:s3cret/rag", "write"),
        ] {
            let error = options(url).parsed().unwrap_err();
            let words = error.to_string();
            assert_eq!(error.kind(), "invalid_url");
            assert!(words.contains(expected) && !words.contains("s3cret") && !words.contains("ann"), "{url}: {words}");
        }
    }

    #[test]
    fn a_debug_text_has_no_secrets() {
        let words = format!("{:?}", options("postgres://ann@db/rag"));
        assert!(words.contains("docs") && !words.contains("s3cret") && !words.contains("ann"), "{words}");
    }
}
