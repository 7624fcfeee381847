//! Lists and fetches the files of sources: inline texts, folders, ConfigMaps, web pages, git repositories, S3 buckets.
//!
//! [`open`] lists the files of a source. [`Opened::fetch`] copies a file into the work folder, unless its revision is
//! already known. Downloads are streamed to disk; all times and sizes have limits. No request is sent to an address
//! that [`AddressPolicy`] refuses.

mod access;
mod address;
mod credentials;
mod error;
mod file_error;
mod filter;
mod folder;
mod git;
mod http;
mod inline;
mod item;
mod listing;
mod opened;
mod path;
mod proxies;
mod revision;
mod s3;
mod spool;

pub use access::{Access, Limits};
pub use address::{AddressPolicy, RefusalReason, RefusedAddress};
pub use error::{FetchError, SourceError};
pub use file_error::{Extent, FileError};
pub use item::{Fetched, FetchedFile, Item};
pub use opened::{Opened, open};
pub use proxies::{Proxies, ProxyError, ProxyVariables};
pub use revision::identifies_content;
pub use s3::connect_bucket;
