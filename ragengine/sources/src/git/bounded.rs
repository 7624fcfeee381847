//! Bounds what a git server sends before the pack: its capabilities, its branches and tags, and its answers to a request.
//! The protocol keeps them in memory.

use std::any::Any;
use std::io::{BufRead, Error, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gix_transport::client::blocking_io::http::reqwest::Remote as Client;
use gix_transport::client::blocking_io::http::{GetResponse, Http, PostBodyDataKind, PostResponse};

/// The bytes that a connection may still receive.
#[derive(Debug, Clone)]
pub struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// Allows this number of bytes.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Allows any number of bytes. A pack has its own bound, and is not kept in memory.
    pub fn lift(&self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }

    fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only one response is read at a time.
    fn take(&self, bytes: u64) {
        self.0.store(self.left().saturating_sub(bytes), Ordering::Relaxed);
    }
}

/// An HTTP client whose responses are bounded together.
pub struct BoundedClient {
    inner: Client,
    allowance: Allowance,
}

impl BoundedClient {
    /// A client that receives as many bytes as allowed.
    pub fn new(allowance: Allowance) -> Self {
        Self { inner: Client::default(), allowance }
    }

    fn bounded<B>(&self, body: B) -> BoundedBody<B> {
        BoundedBody { inner: body, allowance: self.allowance.clone() }
    }
}

impl Http for BoundedClient {
    type Headers = <Client as Http>::Headers;
    type ResponseBody = BoundedBody<<Client as Http>::ResponseBody>;
    type PostBody = <Client as Http>::PostBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix_error::Result<GetResponse<Self::Headers, Self::ResponseBody>> {
        let GetResponse { headers, body } = self.inner.get(url, base_url, headers)?;
        Ok(GetResponse { headers, body: self.bounded(body) })
    }

    fn post(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        body: PostBodyDataKind,
    ) -> gix_error::Result<PostResponse<Self::Headers, Self::ResponseBody, Self::PostBody>> {
        let PostResponse { post_body, headers, body } = self.inner.post(url, base_url, headers, body)?;
        Ok(PostResponse { post_body, headers, body: self.bounded(body) })
    }

    fn configure(&mut self, config: &dyn Any) -> gix_error::Result<()> {
        self.inner.configure(config)
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.inner.redirected_base_url()
    }
}

/// A response that fails when it is longer than allowed.
pub struct BoundedBody<B> {
    inner: B,
    allowance: Allowance,
}

impl<B: BufRead> Read for BoundedBody<B> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let available = self.fill_buf()?;
        let length = available.len().min(buffer.len());
        buffer[..length].copy_from_slice(&available[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl<B: BufRead> BufRead for BoundedBody<B> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        let available = self.inner.fill_buf()?;
        if available.len() as u64 > self.allowance.left() {
            return Err(Error::other("the server sends too many branches and tags"));
        }
        Ok(available)
    }

    fn consume(&mut self, length: usize) {
        self.allowance.take(length as u64);
        self.inner.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_responses_together_are_bounded_until_the_bound_is_lifted() {
        let read = |allowance: &Allowance| {
            let mut found = Vec::new();
            let mut body = BoundedBody { inner: &b"abc"[..], allowance: allowance.clone() };
            body.read_to_end(&mut found).map_err(|error| error.to_string())
        };
        let allowance = Allowance::new(7);
        assert_eq!([read(&allowance), read(&allowance)], [Ok(3), Ok(3)]);
        assert_eq!(read(&allowance), Err("the server sends too many branches and tags".to_owned()));
        allowance.lift();
        assert_eq!(read(&allowance), Ok(3));
    }
}
