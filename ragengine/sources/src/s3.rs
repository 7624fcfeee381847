//! The objects of an S3 bucket.

mod connector;
mod endpoint;
mod listing_page;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use connector::Connector;
use endpoint::{DEFAULT_REGION, endpoint_of};
use futures_util::StreamExt;
use listing_page::{LeftOut, PageError};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, ObjectMeta, ObjectStore, RetryConfig};
use ragengine_settings::sync;

use crate::address::Resolver;
use crate::credentials::{BUCKET_KEYS, BucketCredentials, check_receiver};
use crate::error::find_source;
use crate::http::client_builder;
use crate::listing::ListingBuilder;
use crate::spool::Spool;
use crate::{Access, FetchError, Fetched, FetchedFile, Item, SourceError, path};

/// The maximum number of retries of a request, and their maximum total time.
const MAX_RETRIES: usize = 2;
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The prefix of a revision from an ETag, and the maximum length of an ETag in bytes.
const ETAG_PREFIX: &str = "etag:";
const MAX_TAG_BYTES: usize = 200;

/// The maximum length of a server's error message that is shown, in characters.
const MAX_REASON_CHARS: usize = 300;

/// The error of an object whose key is not a path.
const ODD_KEY: &str =
    "the key is not a path: a part of it is empty, is '.' or '..', or has a control character; rename it";

/// A bucket that was listed.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    work_folder: PathBuf,
    max_file_bytes: u64,
    timeout: Duration,
}

impl Bucket {
    /// Lists the objects of a bucket whose keys begin with the prefix. Skips objects that stand for folders. If the
    /// listing has no ETags, each object is fetched with a conditional request.
    pub async fn open(source: &sync::S3, access: &Access, listing: &mut ListingBuilder) -> Result<Self, SourceError> {
        let timeout = access.limits.request_timeout;
        let failed = |source_error| SourceError::Bucket { bucket: source.bucket.clone(), source: source_error };
        let (store, connector) = connect(source, access).await?;
        let mut page_token = None;
        loop {
            let options = PaginatedListOptions { page_token, ..PaginatedListOptions::default() };
            let page = store.list_paginated(source.prefix.as_deref(), options).await;
            let page = page.map_err(|error| failed(explain(&error, timeout)))?;
            for object in &page.result.objects {
                listing.add(Item {
                    path: object.location.to_string(),
                    revision: object.e_tag.is_some().then(|| revision_of(object)),
                    size_bytes: Some(object.size),
                })?;
            }
            for left_out in connector.left_out() {
                listing.count_entry()?;
                match left_out {
                    LeftOut::Odd(key) if listing.selects(&key) => listing.add_error(path::shown(&key), ODD_KEY)?,
                    LeftOut::Odd(_) | LeftOut::Folder => {}
                }
            }
            page_token = page.page_token;
            if page_token.is_none() {
                break;
            }
        }
        Ok(Self {
            store,
            work_folder: access.work_folder.clone(),
            max_file_bytes: access.limits.max_file_bytes,
            timeout,
        })
    }

    /// Copies an object into the work folder, unless it still has the known revision.
    pub async fn fetch(&self, path: &str, known: Option<&str>) -> Result<Fetched, FetchError> {
        match tokio::time::timeout(self.timeout, self.fetch_in_time(path, known)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(FetchError::Timeout { seconds: self.timeout.as_secs() }),
        }
    }

    async fn fetch_in_time(&self, path: &str, known: Option<&str>) -> Result<Fetched, FetchError> {
        let key = Path::parse(path).map_err(|error| FetchError::Answer(error.to_string()))?;
        let options = GetOptions { if_none_match: known.and_then(tag_of).map(str::to_owned), ..GetOptions::default() };
        let object = match self.store.get_opts(&key, options).await {
            Ok(object) => object,
            Err(object_store::Error::NotModified { .. }) => return Ok(Fetched::Unchanged),
            Err(object_store::Error::NotFound { .. }) => return Ok(Fetched::Gone),
            Err(error) => return Err(explain(&error, self.timeout)),
        };
        let revision = revision_of(&object.meta);
        if Some(revision.as_str()) == known {
            return Ok(Fetched::Unchanged);
        }
        let max_bytes = self.max_file_bytes;
        if object.meta.size > max_bytes {
            return Err(FetchError::TooLarge { max_bytes });
        }
        let modified = in_seconds(&object.meta);
        let mut spool = Spool::new(&self.work_folder, max_bytes)?;
        let mut parts = object.into_stream();
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| explain(&error, self.timeout))?;
            spool.write_all(&part).map_err(|error| Spool::explain(error, max_bytes))?;
        }
        let path_on_disk = spool.finish().path;
        Ok(Fetched::File(FetchedFile { path_on_disk, revision, content_type: None, url: None, modified }))
    }
}

/// Creates a client for a bucket, which sends requests only to permitted addresses. It uses only these settings, and none
/// of the environment. Listings leave out keys that are not paths.
///
/// # Errors
///
/// When the address is not permitted, or the credentials cannot be read or must not be sent there.
pub async fn connect_bucket(source: &sync::S3, access: &Access) -> Result<AmazonS3, SourceError> {
    Ok(connect(source, access).await?.0)
}

/// Creates a client for the bucket. It uses only settings of the task, and none of the environment.
async fn connect(source: &sync::S3, access: &Access) -> Result<(AmazonS3, Connector), SourceError> {
    let endpoint = endpoint_of(source)?;
    let failed = |refused| SourceError::Bucket { bucket: source.bucket.clone(), source: FetchError::Refused(refused) };
    access.check_request(&endpoint).await.map_err(failed)?;
    if source.credentials.is_some() {
        check_receiver(&source.credential_hosts, &endpoint, &access.proxies)?;
    }
    let credentials = BucketCredentials::read(source.credentials.as_deref())?;
    let client = client_builder(access, Resolver::new(&access.addresses, &access.proxies), credentials.authorities)
        .build()
        .map_err(|error| SourceError::Credentials(format!("ca.crt cannot be used: {error}")))?;
    let connector = Connector::new(client);
    let backoff = BackoffConfig::default();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&source.bucket)
        .with_region(source.region.as_deref().unwrap_or(DEFAULT_REGION))
        // Passes the URL that was checked, because the library may parse the configured text differently.
        .with_endpoint(endpoint.as_str().trim_end_matches('/'))
        .with_allow_http(true)
        .with_retry(RetryConfig { backoff, max_retries: MAX_RETRIES, retry_timeout: RETRY_TIMEOUT })
        .with_http_connector(connector.clone());
    builder = match credentials.keys {
        Some(keys) => {
            let signing = builder.with_access_key_id(keys.access_key_id).with_secret_access_key(keys.secret_access_key);
            keys.session_token.into_iter().fold(signing, AmazonS3Builder::with_token)
        }
        // Otherwise the library requests credentials from the metadata service of the cloud.
        None => builder.with_skip_signature(true),
    };
    let store = builder.build().map_err(|error| SourceError::Internal(error.to_string()))?;
    Ok((store, connector))
}

/// The revision of an object: its ETag and its size. The size detects changes on servers with incorrect ETags.
fn revision_of(object: &ObjectMeta) -> String {
    match &object.e_tag {
        Some(tag) if tag.len() <= MAX_TAG_BYTES => format!("{ETAG_PREFIX}{tag};{}", object.size),
        _ => format!("modified:{};{}", object.last_modified.timestamp(), object.size),
    }
}

/// The ETag in a revision.
fn tag_of(revision: &str) -> Option<&str> {
    Some(revision.strip_prefix(ETAG_PREFIX)?.rsplit_once(';')?.0)
}

fn in_seconds(object: &ObjectMeta) -> Option<String> {
    Some(jiff::Timestamp::from_second(object.last_modified.timestamp()).ok()?.to_string())
}

fn explain(error: &object_store::Error, timeout: Duration) -> FetchError {
    use object_store::Error;
    if let Some(client) = find_source::<reqwest::Error>(error) {
        return FetchError::from_client(client, timeout);
    }
    if let Some(page) = find_source::<PageError>(error) {
        return FetchError::Answer(page.to_string());
    }
    let words = error.to_string();
    let status = match error {
        Error::NotFound { .. } => Some(404),
        Error::Unauthenticated { .. } => Some(401),
        Error::PermissionDenied { .. } => Some(403),
        _ => status_in(&words),
    };
    match status {
        Some(status @ (401 | 403)) => FetchError::Unauthorized { status, keys: BUCKET_KEYS },
        Some(status) => FetchError::Status { status },
        None => FetchError::Answer(words.chars().take(MAX_REASON_CHARS).collect()),
    }
}

/// The HTTP status in an error message. For a listing, the library has it only there.
fn status_in(words: &str) -> Option<u16> {
    let (_, rest) = words.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_contains_the_etag_for_the_next_request() {
        let object = |tag: Option<&str>| ObjectMeta {
            location: Path::from("a.md"),
            last_modified: Default::default(),
            size: 7,
            e_tag: tag.map(str::to_owned),
            version: None,
        };
        let long = "x".repeat(201);
        let cases = [
            (Some("\"a\""), "etag:\"a\";7", Some("\"a\"")),
            (Some("\"a;b-2\""), "etag:\"a;b-2\";7", Some("\"a;b-2\"")),
            (Some(long.as_str()), "modified:0;7", None),
            (None, "modified:0;7", None),
        ];
        for (tag, revision, asked) in cases {
            let found = revision_of(&object(tag));
            assert_eq!(found, revision);
            assert_eq!(tag_of(&found), asked);
        }
    }
}
