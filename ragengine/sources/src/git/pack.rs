use std::fmt;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_pack::Bundle;
use gix_utils::progress::Discard;

use crate::FetchError;

/// A pack file with the objects of one commit.
pub struct Pack {
    bundle: Bundle,
    has_files: bool,
}

impl fmt::Debug for Pack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pack").field("has_files", &self.has_files).finish_non_exhaustive()
    }
}

impl Pack {
    /// Writes a pack into a folder while it is received, and indexes its objects, which unpacks each of them. `None` if
    /// the pack is empty.
    pub fn write(
        content: &mut dyn BufRead,
        folder: &Path,
        max_object_bytes: usize,
        interrupt: &AtomicBool,
    ) -> Result<Option<Self>, gix_error::Error> {
        let options = gix_pack::bundle::write::Options {
            thread_limit: Some(1),
            alloc_limit_bytes: Some(max_object_bytes),
            ..gix_pack::bundle::write::Options::default()
        };
        let base_objects = None::<gix_object::find::Never>;
        let written = Bundle::write_to_directory(
            content,
            Some(folder),
            &mut Discard,
            interrupt,
            base_objects,
            gix_hash::Kind::Sha1,
            options,
        )?;
        let Some(bundle) = written.to_bundle().transpose()? else {
            return Ok(None);
        };
        let Bundle { pack, index } = bundle;
        let bundle = Bundle { pack: pack.with_alloc_limit_bytes(Some(max_object_bytes)), index };
        Ok(Some(Self { bundle, has_files: false }))
    }

    /// Marks the pack as one that contains files.
    pub fn with_files(self) -> Self {
        Self { has_files: true, ..self }
    }

    /// Whether files were requested, and not only folders.
    pub fn has_files(&self) -> bool {
        self.has_files
    }

    /// The content of a file. `None` if the server left it out because of its size.
    pub fn read(&self, id: ObjectId) -> Result<Option<Vec<u8>>, FetchError> {
        self.find(id, Kind::Blob)
    }

    /// The content of a tree object.
    pub fn tree(&self, id: ObjectId) -> Result<Vec<u8>, FetchError> {
        self.find(id, Kind::Tree)?
            .ok_or_else(|| FetchError::Answer("its pack does not contain a folder of the commit".into()))
    }

    /// The id of the root tree of a commit.
    pub fn root(&self, commit: ObjectId) -> Result<ObjectId, FetchError> {
        let content = self.find(commit, Kind::Commit)?;
        let content = content.ok_or_else(|| FetchError::Answer("its pack does not contain the commit".into()))?;
        gix_object::CommitRefIter::from_bytes(&content, gix_hash::Kind::Sha1)
            .tree_id()
            .map_err(|error| FetchError::Answer(error.to_string()))
    }

    fn find(&self, id: ObjectId, kind: Kind) -> Result<Option<Vec<u8>>, FetchError> {
        let mut content = Vec::new();
        let found = self.bundle.find(&id, &mut content, &mut gix_zlib::Inflate::default(), &mut gix_pack::cache::Never);
        match found.map_err(|error| FetchError::Answer(error.to_string()))?.map(|(object, _)| object.kind) {
            Some(found) if found == kind => Ok(Some(content)),
            Some(_) => Err(FetchError::Answer(format!("an object in its pack is not a {kind}"))),
            None => Ok(None),
        }
    }
}
