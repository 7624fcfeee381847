use std::io::Write;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::entry::Entry;
use super::manifest::{End, IndexHeader, Manifest};
use super::{ArchiveError, BLOCK_BYTES, Row};

/// Writes an archive. At most one block is in memory.
pub struct ArchiveWriter<W: Write> {
    tar: Builder<W>,
    digest: Sha256,
    block: Vec<u8>,
    index: String,
    blocks: u32,
}

impl<W: Write> ArchiveWriter<W> {
    /// Starts an archive.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Write`], as for the other methods.
    pub fn begin(output: W, manifest: &Manifest) -> Result<Self, ArchiveError> {
        let mut writer = Self {
            tar: Builder::new(output),
            digest: Sha256::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            index: String::new(),
            blocks: 0,
        };
        writer.json(&Entry::Manifest, manifest)?;
        Ok(writer)
    }

    /// Starts the next index.
    pub fn index(&mut self, name: &str, header: &IndexHeader) -> Result<(), ArchiveError> {
        self.close_block()?;
        (self.index, self.blocks) = (name.to_owned(), 0);
        self.json(&Entry::Header(name.to_owned()), header)
    }

    /// Adds a row to the index.
    pub fn row(&mut self, row: &Row) -> Result<(), ArchiveError> {
        // Only a row that is longer than a block makes a longer block.
        let bytes = postcard::to_stdvec(row).map_err(ArchiveError::damaged)?;
        if !self.block.is_empty() && self.block.len() + bytes.len() > BLOCK_BYTES {
            self.close_block()?;
        }
        self.block.extend_from_slice(&bytes);
        Ok(())
    }

    /// Writes the end entry. Without it the archive is incomplete.
    pub fn end(mut self) -> Result<W, ArchiveError> {
        self.close_block()?;
        let sha256 = hex::encode(self.digest.clone().finalize());
        self.json(&Entry::End, &End { sha256 })?;
        self.tar.into_inner().map_err(ArchiveError::Write)
    }

    fn close_block(&mut self) -> Result<(), ArchiveError> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.blocks += 1;
        let mut block = std::mem::take(&mut self.block);
        self.entry(&Entry::Block(self.index.clone(), self.blocks), &block)?;
        block.clear();
        self.block = block;
        Ok(())
    }

    fn json(&mut self, entry: &Entry, value: &impl Serialize) -> Result<(), ArchiveError> {
        let bytes = serde_json::to_vec_pretty(value).map_err(ArchiveError::damaged)?;
        self.entry(entry, &bytes)
    }

    fn entry(&mut self, entry: &Entry, bytes: &[u8]) -> Result<(), ArchiveError> {
        let name = entry.name();
        digest_entry(&mut self.digest, &name, bytes);
        let mut header = Header::new_ustar();
        header.set_path(&name).map_err(ArchiveError::Write)?;
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        self.tar.append(&header, bytes).map_err(ArchiveError::Write)
    }
}

pub(super) fn digest_entry(digest: &mut Sha256, name: &str, bytes: &[u8]) {
    digest.update((name.len() as u64).to_le_bytes());
    digest.update(name);
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}
