use std::fmt;
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix_hash::ObjectId;
use gix_object::Kind;
use gix_pack::Bundle;
use gix_utils::progress::Discard;

use crate::FetchError;

/// The objects of one commit, in a file.
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
    /// Writes a pack into a folder as it comes, with an index of its objects, each of which is unpacked for that. None when it is empty.
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

    /// The same, with the files.
    pub fn with_files(self) -> Self {
        Self { has_files: true, ..self }
    }

    /// Whether files were asked for, and not just folders.
    pub fn has_files(&self) -> bool {
        self.has_files
    }

    /// The content of a file, or None when the server left it out.
    pub fn read(&self, id: ObjectId) -> Result<Option<Vec<u8>>, FetchError> {
        self.find(id, Kind::Blob)
    }

    /// The content of a folder.
    pub fn tree(&self, id: ObjectId) -> Result<Vec<u8>, FetchError> {
        self.find(id, Kind::Tree)?
            .ok_or_else(|| FetchError::Answer("a folder is missing in what the server sent".into()))
    }

    /// The top folder of a commit.
    pub fn root(&self, commit: ObjectId) -> Result<ObjectId, FetchError> {
        let content = self.find(commit, Kind::Commit)?;
        let content =
            content.ok_or_else(|| FetchError::Answer("the commit is missing in what the server sent".into()))?;
        gix_object::CommitRefIter::from_bytes(&content, gix_hash::Kind::Sha1)
            .tree_id()
            .map_err(|error| FetchError::Answer(error.to_string()))
    }

    fn find(&self, id: ObjectId, kind: Kind) -> Result<Option<Vec<u8>>, FetchError> {
        let mut content = Vec::new();
        let found = self.bundle.find(&id, &mut content, &mut gix_zlib::Inflate::default(), &mut gix_pack::cache::Never);
        match found.map_err(|error| FetchError::Answer(error.to_string()))?.map(|(object, _)| object.kind) {
            Some(found) if found == kind => Ok(Some(content)),
            Some(_) => Err(FetchError::Answer(format!("it has no {kind} where there should be one"))),
            None => Ok(None),
        }
    }
}
