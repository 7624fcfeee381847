use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix_transport::Protocol;
use gix_transport::client::TransportWithoutIO;
use gix_transport::client::blocking_io::http;
use gix_transport::client::blocking_io::http::reqwest::Options;
use reqwest::header::AUTHORIZATION;

use super::bounded::{Allowance, BoundedClient};
use crate::Proxies;
use crate::address::Resolver;
use crate::credentials::WebCredentials;

/// The maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The git protocol over HTTP.
pub type Transport = http::Transport<BoundedClient>;

/// The maximum number of bytes that a server sends before the pack: enough for some 500,000 branches and tags.
const MAX_BYTES_BEFORE_PACK: u64 = 32 * 1024 * 1024;

/// Creates a transport that only connects to permitted addresses, and sends the credentials. It follows no redirects,
/// so a public server cannot lead it to a private address. `timeout` applies to each request. The allowance of bytes has
/// to be lifted before a pack is received.
pub fn connect(
    url: &str,
    credentials: &WebCredentials,
    (resolver, proxies): (&Resolver, &Proxies),
    timeout: Duration,
) -> Result<(Transport, Allowance), String> {
    let parsed = url.try_into().map_err(|_| "the address is not that of a git repository".to_owned())?;
    let allowance = Allowance::new(MAX_BYTES_BEFORE_PACK);
    let mut transport = Transport::new_http(BoundedClient::new(allowance.clone()), parsed, Protocol::V2, false);
    let (authorities, header) = (credentials.authorities.clone(), credentials.header.clone());
    let (resolver, proxies) = (Arc::new(resolver.clone()), proxies.clone());
    let backend = Options {
        configure_client: Some(Box::new(move |builder| {
            Ok(builder
                .proxy(proxies.for_client())
                .dns_resolver(Arc::clone(&resolver))
                .tls_certs_merge(authorities.clone())
                .connect_timeout(CONNECT_TIMEOUT.min(timeout))
                .timeout(timeout))
        })),
        configure_request: Some(Box::new(move |request| {
            if let Some(header) = &header {
                request.headers_mut().insert(AUTHORIZATION, header.clone());
            }
            Ok(())
        })),
    };
    let options = http::Options {
        follow_redirects: http::options::FollowRedirects::None,
        backend: Some(Arc::new(Mutex::new(backend))),
        ..http::Options::default()
    };
    transport.configure(&options).map_err(|error| error.to_string())?;
    Ok((transport, allowance))
}
