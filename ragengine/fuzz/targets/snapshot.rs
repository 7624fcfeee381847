//! Any bytes as the manifest of a snapshot: it is refused, or what was written. The fields are tried without the checksum, too, which few
//! inputs would pass.
#![no_main]

/// The server's own file: the fuzzer need not compile the server.
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
