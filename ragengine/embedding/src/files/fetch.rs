//! Fetching a model from a hub: into a directory beside its place, and from there into its place, weights last.

mod hub;
mod source;
mod staging;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::hub::MAIN;
use self::source::{FetchedFile, Source};
use self::staging::{Staging, create_folders};
use super::kept::{self, Kept};
use super::model_id::{self, ModelId};
use super::{Error, ModelFiles, OPTIONAL, TOKENIZER, WEIGHTS};

pub use hub::Hub;
pub use source::Progress;

/// The directory of a model: the one that `model_id` names, or `models_directory/organisation/name`, which is
/// fetched from the hub when it is not complete. Of another revision than `main` it is `…/name@revision`, so that what is there is never
/// taken for what is asked for. `on_progress` is called for each piece received.
///
/// The hashes of what is fetched are kept beside it, and compared each time it is located. A directory of the user's has none.
///
/// A fetch that fails or is dropped leaves nothing behind. One model is fetched by one caller at a time.
///
/// # Errors
///
/// The id is neither a directory nor `organisation/name`; a directory lacks a required file; a file is not what was fetched; the hub lacks one,
/// cannot be reached, or sends more than `max_file_bytes`; the directory cannot be written.
///
/// # Panics
///
/// When it fetches and the process has installed no rustls provider.
pub async fn locate_or_fetch(
    model_id: &str,
    models_directory: &Path,
    hub: &Hub,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<PathBuf, Error> {
    let (organisation, name) = match model_id::parse(model_id)? {
        ModelId::Directory(directory) => return Ok(ModelFiles::at(directory)?.directory),
        ModelId::Repository { organisation, name } => (organisation, name),
    };
    let parent = models_directory.join(&organisation);
    model_id::check_segment(&hub.revision)
        .map_err(|reason| Error::Hub(format!("the hub's revision {:?}: {reason}", hub.revision)))?;
    let name = folder_name(&name, &hub.revision);
    let place = parent.join(&name);
    if ModelFiles::at(&place).is_ok() {
        compare(place.clone()).await?;
        return Ok(place);
    }
    let source = Source::new(model_id, hub, &place)?;
    let staging = Staging::create(parent.join(format!(".{name}.partial"))).await?;
    let fetched = fetch_files(&source, &staging, on_progress).await?;
    publish(&staging, &place, fetched, &hub.revision).await?;
    Ok(place)
}

/// What the usual revision is in is named as it always was.
fn folder_name(name: &str, revision: &str) -> String {
    if revision == MAIN { name.to_owned() } else { format!("{name}@{revision}") }
}

/// It reads all of a model, which takes a part of a second.
async fn compare(place: PathBuf) -> Result<(), Error> {
    apart(move || kept::compare_or_keep(&place)).await
}

async fn apart(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(Error::Hub(format!("the hashes of the model's files were not compared or kept: {error}")))
    })
}

/// Fetches everything there is; returns the files in the order in which they are to be published.
async fn fetch_files(
    source: &Source<'_>,
    staging: &Staging,
    on_progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Vec<FetchedFile>, Error> {
    let mut fetched = Vec::new();
    let tokenizer = source.fetch(TOKENIZER, &staging.0, on_progress).await?;
    fetched.push(tokenizer.ok_or_else(|| source.not_there(TOKENIZER))?);
    for file in OPTIONAL {
        fetched.extend(source.fetch(file, &staging.0, on_progress).await?);
    }
    for weights in WEIGHTS {
        if let Some(weights) = source.fetch(weights, &staging.0, on_progress).await? {
            // Models of more than 2 GB keep their weights in a second file.
            fetched.extend(source.fetch(&format!("{}_data", weights.name), &staging.0, on_progress).await?);
            fetched.push(weights);
            return Ok(fetched);
        }
    }
    Err(source.not_there(WEIGHTS[0]))
}

/// Moves the files into place, after their hashes and the weights last: a directory with weights is complete.
async fn publish(staging: &Staging, place: &Path, fetched: Vec<FetchedFile>, revision: &str) -> Result<(), Error> {
    let sha256: BTreeMap<String, String> =
        fetched.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    let (kept, folder) = (Kept { revision: Some(revision.to_owned()), sha256 }, staging.0.clone());
    apart(move || kept.write(&folder)).await?;
    let files = fetched.into_iter().map(|file| file.name);
    for file in [kept::FILE.to_owned()].into_iter().chain(files) {
        let to = place.join(&file);
        let parent = to.parent().unwrap_or(place);
        create_folders(parent).await?;
        tokio::fs::rename(staging.0.join(&file), &to).await.map_err(Error::io(&to))?;
        let directory = tokio::fs::File::open(parent).await.map_err(Error::io(parent))?;
        directory.sync_all().await.map_err(Error::io(parent))?;
    }
    Ok(())
}
