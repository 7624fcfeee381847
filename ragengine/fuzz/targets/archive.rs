//! Fuzzes the reader of archives. An archive is refused or complete; the rows of an index follow its header, and no
//! name in it is a path.
#![no_main]

/// Includes files of the server, so that the fuzzer need not compile all of it.
#[expect(dead_code, unused_imports, reason = "the server uses the rest")]
#[path = "../../index/src"]
mod index {
    pub mod archive;
    pub mod name;
    pub mod record;
}

use index::archive::{ArchiveError, Piece, Row, read};
use index::name::check_name;
// These files refer to each other by crate paths.
use index::{name, record};
use libfuzzer_sys::fuzz_target;

const MAX_BLOCK_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let (mut named, mut begun, mut rows) = (None, Vec::new(), 0_u64);
    let mut due = 0;
    let outcome = read(bytes, MAX_BLOCK_BYTES, |piece| {
        match piece {
            Piece::Manifest(manifest) => assert!(named.replace(manifest.indexes).is_none()),
            Piece::Index(name, header) => {
                assert!(check_name(&name).is_ok());
                begun.push(name);
                due += header.documents + header.chunks;
            }
            Piece::Rows(more) => {
                assert!(!begun.is_empty());
                // The header does not count synchronisations.
                rows += more.iter().filter(|row| !matches!(row, Row::Sync { .. })).count() as u64;
            }
        }
        Ok::<(), ArchiveError>(())
    });
    match outcome {
        Ok(()) => assert_eq!((named, rows), (Some(begun), due)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
