//! Where the documents of an index come from: inline texts, folders, ConfigMaps, web pages, repositories, buckets.
//!
//! [`open`] lists the files of a source, [`Opened::fetch`] brings one of them, if it is not what is known already, as a file in the work folder.
//! Nothing is held in memory as a whole, every wait and every length has a limit, and no request goes to an address that [`AddressPolicy`]
//! refuses.

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
