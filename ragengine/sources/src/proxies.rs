//! The proxies for requests to sources.

use std::fmt;
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Proxy, Url};

/// Selects the proxy of a request. By default, all requests are direct.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    /// Matches hosts that are not reached through a proxy.
    direct: Option<Arc<Matcher>>,
}

/// The usual environment variables for proxies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyVariables {
    /// `HTTP_PROXY`: the proxy for URLs that begin with `http://`.
    pub http: Option<String>,
    /// `HTTPS_PROXY`: the proxy for URLs that begin with `https://`.
    pub https: Option<String>,
    /// `NO_PROXY`: names (which include their subdomains), addresses and ranges, separated by commas. `*` matches
    /// everything.
    pub no_proxy: Option<String>,
}

/// The address of a proxy is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is invalid: it must be http:// or https:// with a host, such as http://proxy.example:3128")]
pub struct ProxyError {
    /// The environment variable of the proxy.
    pub variable: &'static str,
}

impl fmt::Debug for Proxies {
    /// Leaves out the addresses, which may contain a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { http, https, direct: _ } = self;
        formatter.debug_struct("Proxies").field("http", &http.is_some()).field("https", &https.is_some()).finish()
    }
}

impl ProxyVariables {
    /// Reads the environment of this process. The lower case name of a variable takes precedence.
    pub fn of_environment() -> Self {
        let variable = |name: &str| {
            let value = std::env::var(name).or_else(|_| std::env::var(name.to_ascii_uppercase())).ok();
            value.filter(|value| !value.is_empty())
        };
        let all = variable("all_proxy");
        Self {
            http: variable("http_proxy").or_else(|| all.clone()),
            https: variable("https_proxy").or(all),
            no_proxy: variable("no_proxy"),
        }
    }
}

impl Proxies {
    /// Parses the variables.
    ///
    /// # Errors
    ///
    /// When the address of a proxy is invalid.
    pub fn new(variables: &ProxyVariables) -> Result<Self, ProxyError> {
        let http = variables.http.as_deref().map(|value| read(value, "HTTP_PROXY")).transpose()?;
        let https = variables.https.as_deref().map(|value| read(value, "HTTPS_PROXY")).transpose()?;
        let direct = variables.no_proxy.as_deref().map(|hosts| {
            // The matcher needs a proxy, but only its exceptions are used.
            Arc::new(Matcher::builder().all("http://proxy.invalid").no(hosts).build())
        });
        Ok(Self { http, https, direct })
    }

    /// The proxy of a request. `None` for a direct request.
    pub(crate) fn of(&self, url: &Url) -> Option<&Url> {
        let proxy = match url.scheme() {
            "https" => self.https.as_ref(),
            _ => self.http.as_ref(),
        }?;
        let is_direct = self.direct.as_ref().is_some_and(|direct| {
            let parsed = url.as_str().parse();
            parsed.is_ok_and(|uri| direct.intercept(&uri).is_none())
        });
        (!is_direct).then_some(proxy)
    }

    /// Whether this is the host name of a proxy.
    pub(crate) fn are_at(&self, host: &str) -> bool {
        [&self.http, &self.https].into_iter().flatten().any(|proxy| proxy.domain() == Some(host))
    }

    /// The setting for an HTTP client, which then ignores the environment.
    pub(crate) fn for_client(&self) -> Proxy {
        let proxies = self.clone();
        Proxy::custom(move |url| proxies.of(url).cloned())
    }
}

fn read(value: &str, variable: &'static str) -> Result<Url, ProxyError> {
    let with_scheme = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&with_scheme).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()).ok_or(ProxyError { variable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(http: &str, https: &str, no_proxy: &str) -> Result<Proxies, ProxyError> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Proxies::new(&ProxyVariables { http: some(http), https: some(https), no_proxy: some(no_proxy) })
    }

    #[test]
    fn a_request_uses_the_proxy_of_its_scheme_unless_no_proxy_matches() {
        let both = proxies("a.example:3128", "http://b.example", "10.0.0.0/8, .svc,cluster.local,192.0.2.1").unwrap();
        let cases = [
            ("http://docs.example/", Some("http://a.example:3128/")),
            ("https://docs.example/", Some("http://b.example/")),
            ("https://10.1.2.3/", None),
            ("https://[::1]/", Some("http://b.example/")),
            ("http://192.0.2.1:8080/a", None),
            ("http://git.team.svc/a.git", None),
            ("http://git.team.svc.cluster.local/a.git", None),
            ("http://notcluster.local/", Some("http://a.example:3128/")),
        ];
        for (url, expected) in cases {
            assert_eq!(both.of(&Url::parse(url).unwrap()).map(Url::as_str), expected, "{url}");
        }
        let everything = proxies("http://a.example", "", "*").unwrap();
        assert_eq!(everything.of(&Url::parse("http://docs.example/").unwrap()), None);
        assert_eq!(
            proxies("http://a.example", "", "").unwrap().of(&Url::parse("https://docs.example/").unwrap()),
            None
        );
        assert_eq!(Proxies::default().of(&Url::parse("http://docs.example/").unwrap()), None);
    }

    #[test]
    fn the_error_of_an_invalid_proxy_names_the_variable_and_not_its_value() {
        for value in ["socks5://a.example", "http://", "me:secret@"] {
            let error = proxies("", value, "").unwrap_err();
            assert_eq!(error, ProxyError { variable: "HTTPS_PROXY" }, "{value}");
            assert!(!error.to_string().contains("secret"));
        }
        let shown = format!("{:?}", proxies("http://me:secret@a.example", "", "").unwrap());
        assert_eq!(shown, "Proxies { http: true, https: false }");
    }
}
