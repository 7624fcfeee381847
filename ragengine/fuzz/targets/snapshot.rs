//! Fuzzes the manifest of a snapshot. It is refused, or survives being written and read. The fields are also tested
//! without the checksum, which few inputs would pass.
#![no_main]

/// Includes a file of the server, so that the fuzzer need not compile all of it.
#[path = "../../index/src/snapshot/manifest.rs"]
mod manifest;

use libfuzzer_sys::fuzz_target;
use manifest::Manifest;

fuzz_target!(|bytes: &[u8]| {
    let fields = bytes.strip_prefix(b"fields\n").unwrap_or(bytes);
    for manifest in Manifest::decode(bytes).ok().into_iter().chain(Manifest::decode_fields(fields)) {
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
});
