use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use ragengine_errors::{Class, Fault, Logged};
use ragengine_settings::{Authority, Origin, Settings};

/// Why a request is refused before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    /// It was sent to another name.
    #[error(
        "the server is not known by the name in Host: ask it as localhost or by its address, or add the name to allowedHosts"
    )]
    Host,
    /// It does not say what it was sent to.
    #[error(
        "the request has no Host, or several: send the name that the server is called by, which allowedHosts may have"
    )]
    NoHost,
    /// A page of another site sent it.
    #[error(
        "the request is from a page of another site: add the page's origin to cors.allowedOrigins when it may use this server"
    )]
    Origin,
    /// Its body may be a form, or a text, which every page may send.
    #[error("the body must be {wanted}: send Content-Type: {wanted} with it")]
    MediaType {
        /// What the path takes.
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

/// Who sends a request, as far as a browser would say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A program, or a page of this server.
    Own,
    /// A page of a site that is allowed.
    AllowedPage,
}

/// The names that a server may be called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Any.
    Any,
    /// Those of this machine, and those that are allowed.
    OfLoopback,
    /// Addresses, those of this machine, and those that are allowed. No page has an address that is made to mean another one.
    Allowed,
}

/// Whose requests a listener takes.
#[derive(Debug, Clone)]
pub struct Senders {
    names: Names,
    hosts: Vec<String>,
    origins: Vec<Origin>,
}

impl Senders {
    /// What the settings say of a listener at this address.
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

    /// Who sends a request with this head.
    ///
    /// # Errors
    ///
    /// [`Stranger`] when it was sent to another name, or by a page of another site that is not allowed.
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

    /// The origin of a page that is allowed.
    pub fn allowed_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = Origin::parse(only(headers, &header::ORIGIN)??)?;
        self.origins.contains(&origin).then(|| headers.get(header::ORIGIN))?
    }

    /// A target with a name in it, as for a proxy, does not stand for the header, nor the header for it.
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

/// A header's value: none of one that is not there; none inside of one that is there several times, or is no text.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(first.to_str().ok().filter(|_| values.next().is_none()))
}

#[cfg(test)]
mod tests;
