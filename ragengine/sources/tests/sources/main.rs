//! Sources against real folders and servers.

mod files;
mod git;
mod http;
mod http_limits;
mod s3;
mod sitemaps;
mod support;
