use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use ragengine_errors::{Class, Fault, Logged};
use ragengine_settings::{Authority, Origin, Settings};

/// Why a request from an unknown host or page is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    /// The Host is not a name of the server.
    #[error(
        "the name in the Host header is not allowed: use localhost or the server's address, or add the name to \
         allowedHosts"
    )]
    Host,
    /// There is no Host, or more than one.
    #[error(
        "the request must have exactly one Host header: send localhost, the server's address, or a name in allowedHosts"
    )]
    NoHost,
    /// A page of another site sent the request.
    #[error(
        "the request is from a web page of another site: to allow it, add the page's origin to cors.allowedOrigins"
    )]
    Origin,
    /// The body may be a form or text, which any page can send.
    #[error("the body must be {wanted}: send the header 'Content-Type: {wanted}'")]
    MediaType {
        /// The media type of the path.
        wanted: &'static str,
    },
}

impl Fault for Stranger {
    fn class(&self) -> Class {
        match self {
            Self::Host | Self::NoHost => Class::Misdirected,
            Self::Origin => Class::Forbidden,
            Self::MediaType { .. } => Class::MediaType,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Host | Self::NoHost => "host",
            Self::Origin => "origin",
            Self::MediaType { .. } => "media_type",
        }
    }
}

impl Logged for Stranger {
    fn own_words(&self) -> Option<String> {
        None
    }
}

/// The sender of a request, according to its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A program, or a page of this server.
    Own,
    /// A page of an allowed site.
    AllowedPage,
}

/// The allowed values of Host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// All names.
    Any,
    /// Loopback names and addresses, and `allowedHosts`.
    OfLoopback,
    /// IP addresses, loopback names, and `allowedHosts`. IP addresses are safe, because DNS rebinding needs a name.
    Allowed,
}

/// The senders that a listener accepts.
#[derive(Debug, Clone)]
pub struct Senders {
    names: Names,
    hosts: Vec<String>,
    origins: Vec<Origin>,
}

impl Senders {
    /// Reads the settings, for a listener at this address.
    pub fn new(settings: &Settings, listen: SocketAddr) -> Self {
        let names = match (listen.ip().to_canonical().is_loopback(), settings.allowed_hosts.is_empty()) {
            (true, _) => Names::OfLoopback,
            (false, true) => Names::Any,
            (false, false) => Names::Allowed,
        };
        let host = |text: &String| Authority::parse(text).map(|authority| authority.host);
        Self {
            names,
            hosts: settings.allowed_hosts.iter().filter_map(host).collect(),
            origins: settings.cors.allowed_origins.iter().filter_map(|text| Origin::parse(text)).collect(),
        }
    }

    /// Whether any page of another site is allowed.
    pub fn have_pages(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Determines the sender of a request.
    ///
    /// # Errors
    ///
    /// [`Stranger`] when the Host or the page is not allowed.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Sender, Stranger> {
        if self.names != Names::Any {
            self.check_names(uri, headers)?;
        }
        let Some(origin) = only(headers, &header::ORIGIN) else { return Ok(Sender::Own) };
        let origin = origin.and_then(Origin::parse).ok_or(Stranger::Origin)?;
        let server = target(uri).or_else(|| only(headers, &header::HOST)?).and_then(Authority::parse);
        let is_own = server.is_some_and(|server| origin.is_of(&server));
        match (self.origins.contains(&origin), is_own) {
            (true, _) => Ok(Sender::AllowedPage),
            (false, true) => Ok(Sender::Own),
            (false, false) => Err(Stranger::Origin),
        }
    }

    /// The Origin header, if the page is allowed.
    pub fn allowed_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = Origin::parse(only(headers, &header::ORIGIN)??)?;
        self.origins.contains(&origin).then(|| headers.get(header::ORIGIN))?
    }

    /// Checks the Host header and, if the request target has a name, as for a proxy, that name as well.
    fn check_names(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        let host = only(headers, &header::HOST).flatten().ok_or(Stranger::NoHost)?;
        let is_ours = |name: &str| Authority::parse(name).is_some_and(|authority| self.is_ours(&authority));
        let are_ours = is_ours(host) && target(uri).is_none_or(is_ours);
        if are_ours { Ok(()) } else { Err(Stranger::Host) }
    }

    fn is_ours(&self, name: &Authority) -> bool {
        let is_safe = match self.names {
            Names::Any => true,
            Names::OfLoopback => name.is_loopback(),
            Names::Allowed => name.is_loopback() || name.address().is_some(),
        };
        is_safe || self.hosts.contains(&name.host)
    }
}

fn target(uri: &Uri) -> Option<&str> {
    uri.authority().map(|authority| authority.as_str())
}

/// The value of a header. `None` if it is absent, `Some(None)` if it is repeated or not text.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(first.to_str().ok().filter(|_| values.next().is_none()))
}

#[cfg(test)]
mod tests;
