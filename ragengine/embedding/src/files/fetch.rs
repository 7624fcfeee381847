//! Downloads a model from a hub into a temporary directory, and moves the files to their final directory, weights last.

mod hub;
mod source;
mod staging;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::hub::MAIN;
use self::source::{FetchedFile, Source};
use self::staging::{Staging, create_folders};
use super::file_hashes::{self, FileHashes};
use super::model_id::{self, ModelId};
use super::{Error, ModelFiles, OPTIONAL, TOKENIZER, Weights};

pub use hub::Hub;
pub use source::Progress;

/// Returns the directory of a model: `model_id` itself if it is a directory, or `models_directory/organisation/name`.
/// If that is incomplete, the model is downloaded from the hub. A revision other than `main` has a separate directory
/// `…/name@revision`, and other weights than the usual ones have one that ends with `+` and their path, so that files
/// of different revisions are not mixed up. `on_progress` is called for each received piece.
///
/// The hashes of downloaded files are stored beside them, and compared at each call. A local directory has no hashes.
///
/// A download that fails or is cancelled leaves nothing behind. Concurrent downloads of the same model are not
/// supported.
///
/// # Errors
///
/// The id is neither a directory nor `organisation/name`; a directory lacks a required file; a downloaded file has
/// changed; the hub lacks a file, cannot be reached, or sends more than `max_file_bytes`; the directory cannot be
/// written.
///
/// # Panics
///
/// When it downloads and the process has not installed a rustls provider.
pub async fn locate_or_fetch(
    model_id: &str,
    weights: &Weights,
    models_directory: &Path,
    hub: &Hub,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<PathBuf, Error> {
    let (organisation, name) = match model_id::parse(model_id)? {
        ModelId::Directory(directory) => return Ok(ModelFiles::with_weights(directory, weights)?.directory),
        ModelId::Repository { organisation, name } => (organisation, name),
    };
    let parent = models_directory.join(&organisation);
    model_id::check_segment(&hub.revision)
        .map_err(|reason| Error::Hub(format!("the hub's revision {:?}: {reason}", hub.revision)))?;
    let name = folder_name(&name, &hub.revision, weights);
    let place = parent.join(&name);
    if ModelFiles::with_weights(&place, weights).is_ok() {
        compare(place.clone(), weights.clone()).await?;
        return Ok(place);
    }
    let source = Source::new(model_id, hub, &place)?;
    let staging = Staging::create(parent.join(format!(".{name}.partial"))).await?;
    let fetched = fetch_files(&source, weights, &staging, on_progress).await?;
    publish(&staging, &place, fetched, &hub.revision).await?;
    Ok(place)
}

/// The default revision has no suffix, for compatibility with earlier versions.
fn folder_name(name: &str, revision: &str, weights: &Weights) -> String {
    let revision = if revision == MAIN { String::new() } else { format!("@{revision}") };
    format!("{name}{revision}{}", weights.suffix())
}

/// Compares the hashes of all files, which takes a fraction of a second.
async fn compare(place: PathBuf, weights: Weights) -> Result<(), Error> {
    run_blocking(move || file_hashes::compare_or_store(&place, &weights)).await
}

async fn run_blocking(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Error::Hub(format!("the hashes of the model's files could not be compared or stored: {error}")))
    })
}

/// Downloads all files of the model, and returns them in the order in which to publish them.
async fn fetch_files(
    source: &Source<'_>,
    weights: &Weights,
    staging: &Staging,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Vec<FetchedFile>, Error> {
    let mut fetched = Vec::new();
    let tokenizer = source.fetch(TOKENIZER, &staging.0, on_progress).await?;
    fetched.push(tokenizer.ok_or_else(|| source.missing(TOKENIZER))?);
    for file in OPTIONAL {
        fetched.extend(source.fetch(file, &staging.0, on_progress).await?);
    }
    let names = weights.names();
    for name in &names {
        if let Some(graph) = source.fetch(name, &staging.0, on_progress).await? {
            // Models larger than 2 GB have their weights in a second file.
            fetched.extend(source.fetch(&format!("{}_data", graph.name), &staging.0, on_progress).await?);
            fetched.push(graph);
            return Ok(fetched);
        }
    }
    Err(source.missing(names[0]))
}

/// Moves the files to their final directory: first the hashes, the weights last. A directory with weights is therefore
/// complete.
async fn publish(staging: &Staging, place: &Path, fetched: Vec<FetchedFile>, revision: &str) -> Result<(), Error> {
    let sha256: BTreeMap<String, String> =
        fetched.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    let (hashes, folder) = (FileHashes { revision: Some(revision.to_owned()), sha256 }, staging.0.clone());
    run_blocking(move || hashes.write(&folder)).await?;
    let files = fetched.into_iter().map(|file| file.name);
    for file in [file_hashes::FILE.to_owned()].into_iter().chain(files) {
        let to = place.join(&file);
        let parent = to.parent().unwrap_or(place);
        create_folders(parent).await?;
        tokio::fs::rename(staging.0.join(&file), &to).await.map_err(Error::io(&to))?;
        let directory = tokio::fs::File::open(parent).await.map_err(Error::io(parent))?;
        directory.sync_all().await.map_err(Error::io(parent))?;
    }
    Ok(())
}
