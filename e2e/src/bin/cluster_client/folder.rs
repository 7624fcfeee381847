//! A folder whose files a test changes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use ragengine_e2e::changes::{Changes, Content};

use crate::content::bytes;

/// Makes the changes. Files are replaced atomically, so that a reader sees either the old or the new content.
pub fn apply(folder: &Path, changes: &Changes) -> anyhow::Result<()> {
    for (path, content) in &changes.put {
        put(&below(folder, path)?, content).with_context(|| path.clone())?;
    }
    for path in &changes.remove {
        match fs::remove_file(below(folder, path)?) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.with_context(|| path.clone())?,
        }
    }
    Ok(())
}

fn put(place: &Path, content: &Content) -> anyhow::Result<()> {
    fs::create_dir_all(place.parent().context("the path has no parent folder")?)?;
    let mut new = place.as_os_str().to_owned();
    new.push(".new");
    match content {
        Content::Link(target) => std::os::unix::fs::symlink(target, &new)?,
        Content::Submodule(_) => bail!("a folder has no submodules"),
        _ => bytes(content)?.write_to(&mut fs::File::create(&new)?)?,
    }
    Ok(fs::rename(&new, place)?)
}

fn below(folder: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    ensure!(is_plain && !path.is_empty(), "{path} is not below the folder");
    Ok(folder.join(path))
}
