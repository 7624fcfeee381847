//! Backups in an S3 bucket.
//!
//! A backup is two objects: `PREFIX/NAME`, the tar file, and `PREFIX/NAME.json`, its [`Manifest`] with size and SHA-256.
//! The tar file is uploaded in parts, and the server shows it only when all parts are complete. The manifest is written
//! last, after the size of the stored file was compared. A file without a manifest is not a backup: an upload that was
//! interrupted at any point leaves none.
//!
//! Several writers may share a prefix. Each deletes only its own backups, which it recognises by the mark in the name.

mod bucket;
mod error;
mod listing;
mod manifest;
mod name;
mod read;
mod retention;
mod upload;

pub use bucket::Bucket;
pub use error::BackupError;
pub use manifest::{Contents, Manifest};
pub use name::Name;
pub use retention::superseded;
pub use upload::Upload;
