//! Places with backups: folders and buckets.

mod chunks;
mod head;
mod keep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
pub use chunks::ChunkReader;
pub use head::has_no_index;
pub use keep::{Writer, superseded};
use ragengine_backups::Bucket;
use ragengine_settings::BackupBucket;
use ragengine_settings::sync::AddressRange;
use ragengine_sources::{Access, AddressPolicy, Limits, Proxies, ProxyVariables};

/// The time limit of a request to a bucket, which carries at most 16 MiB.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Prepares to use a bucket, with the proxies of the environment.
///
/// # Errors
///
/// When its address is not permitted, or the credentials or a proxy cannot be used.
pub async fn connect(settings: &BackupBucket, allowed_ranges: &[AddressRange]) -> anyhow::Result<Bucket> {
    let access = Access {
        addresses: AddressPolicy::in_cluster(allowed_ranges.to_vec(), Vec::new()).await,
        proxies: Proxies::new(&ProxyVariables::of_environment())?,
        // Nothing is fetched into it.
        work_folder: PathBuf::new(),
        mounts: None,
        limits: Limits { request_timeout: REQUEST_TIMEOUT, ..Limits::default() },
    };
    Ok(Bucket::connect(&settings.into(), &access).await?)
}

/// Returns the backup file at a path: the file itself, or the newest backup in the folder that has an index.
///
/// # Errors
///
/// When the folder cannot be read or has no such backup.
pub fn find(input: &Path) -> anyhow::Result<PathBuf> {
    if !input.is_dir() {
        return Ok(input.to_owned());
    }
    let backups = keep::newest_first(names(input)?);
    match (backups.iter().map(|name| input.join(name)).find(|path| !has_no_index(path)), backups.first()) {
        (Some(path), _) => Ok(path),
        (None, Some(newest)) => bail!("there is no backup in {} but {newest}, which has no index", input.display()),
        (None, None) => bail!("there is no backup in {}", input.display()),
    }
}

/// The names of all files in a folder.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}
