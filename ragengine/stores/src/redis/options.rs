use std::fmt;

use redis::{Client, ConnectionInfo, IntoConnectionInfo as _};

use crate::StoreError;

/// How to connect to a Redis server.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisOptions {
    /// The address, such as `redis://HOST:6379` or `rediss://USER@HOST:6379/DATABASE`, without a password. `rediss` is
    /// encrypted, with the certificates that the system trusts.
    pub url: String,
    /// The password, of the user if the address names one.
    pub password: Option<String>,
    /// The second part of every key: `stateNamespace`.
    pub engine: String,
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedisOptions").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl RedisOptions {
    /// The options in the form of the client.
    ///
    /// # Errors
    ///
    /// [`StoreError::Url`].
    pub(super) fn client(&self) -> Result<Client, StoreError> {
        let invalid = |reason: &str| StoreError::Url { setting: "redis.url", reason: reason.to_owned() };
        let scheme = self.url.split_once("://").filter(|(scheme, _)| ["redis", "rediss"].contains(scheme));
        let (_, rest) = scheme.ok_or_else(|| invalid("it must begin with redis:// or rediss://"))?;
        if rest.contains(['?', '#']) {
            return Err(invalid("it must have no parameters"));
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return Err(invalid("it must not contain a password"));
        }
        // The error is left out, because it may quote the URL.
        let info = self.url.as_str().into_connection_info();
        let info = info.map_err(|_| invalid("write redis://HOST:6379 or redis://USER@HOST:6379/DATABASE"))?;
        Client::open(self.completed(info)).map_err(|_| invalid("the client refuses it"))
    }

    fn completed(&self, info: ConnectionInfo) -> ConnectionInfo {
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        // The server need not know the name of a library.
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        let settings = match &self.password {
            Some(password) => settings.set_password(password),
            None => settings,
        };
        info.set_tcp_settings(tcp).set_redis_settings(settings)
    }
}

#[cfg(test)]
mod tests {
    use redis::ConnectionAddr;

    use super::*;

    fn options(url: &str) -> RedisOptions {
        RedisOptions { url: url.to_owned(), password: Some("s3cret".to_owned()), engine: "docs".to_owned() }
    }

    #[test]
    fn the_url_says_where_the_server_is() {
        let client = options("redis://ann%40x@cache.test:6380/3").client().unwrap();
        let info = client.get_connection_info();
        assert_eq!(*info.addr(), ConnectionAddr::Tcp("cache.test".to_owned(), 6380));
        let settings = info.redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("ann@x"), Some("s3cret")));
        assert_eq!(settings.db(), 3);
        assert!(info.tcp_settings().nodelay());
        let client = options("redis://cache.test").client().unwrap();
        assert_eq!(*client.get_connection_info().addr(), ConnectionAddr::Tcp("cache.test".to_owned(), 6379));
        let client = options("rediss://[::1]:7000").client().unwrap();
        let is_verified = matches!(client.get_connection_info().addr(),
            ConnectionAddr::TcpTls { host, port: 7000, insecure: false, .. } if host == "::1");
        assert!(is_verified);
    }

    #[test]
    fn an_invalid_url_is_refused_without_being_quoted() {
        for (url, expected) in [
            ("http://ann@cache", "begin with"),
            ("unix:///tmp/ann", "begin with"),
            ("ann@cache", "begin with"),
            ("redis://ann:s3cret@cache", "password"),
            ("redis://:s3cret@cache", "password"),
            ("redis://ann@cache?password=s3cret", "parameters"),
            ("rediss://ann@cache/#insecure", "parameters"),
            ("redis://ann@cache:s3cret", "write"),
            ("redis://ann@cache/s3cret", "write"),
            ("redis://", "write"),
        ] {
            let error = options(url).client().unwrap_err();
            let words = error.to_string();
            assert_eq!(error.kind(), "invalid_url");
            assert!(words.contains(expected) && words.contains("redis.url is invalid"), "{url}: {words}");
            assert!(!words.contains("s3cret") && !words.contains("ann"), "{url}: {words}");
        }
    }

    #[test]
    fn a_debug_text_has_no_secrets() {
        let words = format!("{:?}", options("redis://ann@cache"));
        assert!(words.contains("docs") && !words.contains("s3cret") && !words.contains("ann"), "{words}");
    }
}
