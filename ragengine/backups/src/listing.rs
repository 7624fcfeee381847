use std::collections::{BTreeMap, BTreeSet};

use object_store::list::{PaginatedListOptions, PaginatedListStore};

use crate::{BackupError, Name};

/// The most objects below a prefix. Backups need two objects each.
const MAX_OBJECTS: usize = 100_000;

/// The objects of backups below a prefix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The tar files, with their sizes in bytes.
    pub files: BTreeMap<Name, u64>,
    /// The backups that have a manifest.
    pub manifests: BTreeSet<Name>,
}

impl Listing {
    /// The backups that have a file and a manifest, the newest first.
    pub fn complete(&self) -> impl Iterator<Item = &Name> {
        self.files.keys().rev().filter(|name| self.manifests.contains(*name))
    }

    /// The names of all files and manifests. That of a complete backup comes twice.
    pub fn all(&self) -> impl Iterator<Item = &Name> {
        self.files.keys().chain(&self.manifests)
    }

    /// Whether a backup has a file and a manifest.
    pub fn is_complete(&self, name: &Name) -> bool {
        self.files.contains_key(name) && self.manifests.contains(name)
    }

    /// The size of a tar file in bytes.
    pub fn bytes_of(&self, name: &Name) -> Option<u64> {
        self.files.get(name).copied()
    }

    /// What there is instead of a backup that is missing, as the end of a message.
    pub fn hint(&self) -> String {
        match (self.complete().next(), self.files.keys().next_back()) {
            (Some(newest), _) => format!("; the newest one is {newest}"),
            (None, Some(unfinished)) => format!("; {unfinished} has no manifest, because its upload was interrupted"),
            (None, None) => String::new(),
        }
    }

    fn add(&mut self, name: &str, bytes: u64) {
        match name.strip_suffix(".json") {
            Some(name) => self.manifests.extend(Name::parse(name)),
            None => self.files.extend(Name::parse(name).map(|name| (name, bytes))),
        }
    }
}

/// Lists all objects below a prefix, which ends with `/` or is empty.
pub async fn list(store: &impl PaginatedListStore, prefix: &str) -> Result<Listing, BackupError> {
    let (mut listing, mut objects, mut page_token) = (Listing::default(), 0, None);
    loop {
        let options = PaginatedListOptions { page_token, ..PaginatedListOptions::default() };
        let page = store.list_paginated(Some(prefix).filter(|prefix| !prefix.is_empty()), options).await;
        let page = page.map_err(BackupError::of("list the backups"))?;
        objects += page.result.objects.len();
        if objects > MAX_OBJECTS {
            return Err(BackupError::TooMany { max: MAX_OBJECTS });
        }
        for object in &page.result.objects {
            // Below the prefix there may be others, such as those of a longer prefix. They have a '/' and are no names.
            if let Some(name) = object.location.as_ref().strip_prefix(prefix) {
                listing.add(name, object.size);
            }
        }
        page_token = page.page_token;
        if page_token.is_none() {
            return Ok(listing);
        }
    }
}
