//! Sources against real folders and servers.

#![expect(clippy::unwrap_used, reason = "tests")]

mod files;
mod git;
mod http;
mod http_limits;
mod proxies;
mod s3;
mod sitemaps;
mod support;
mod tls;
