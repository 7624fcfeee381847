use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Bytes with a meaning in some format.
const PIECES: [&str; 34] = [
    "---\n",
    "title: a\n",
    "date: 2026-05-01\n",
    "# a\n",
    "- ",
    "```\n",
    "<",
    ">",
    "<main>",
    "</main>",
    "<table><tr><td>",
    "<a href=x>",
    "<svg><title>",
    "<template>",
    "<title>",
    "<meta charset=utf-16>",
    "&amp;",
    "{\"text\": \"",
    "\"}",
    "\"id\": 1,",
    "\"",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "id,text\n",
    "a,b,c\n",
    "\u{feff}",
    "\0",
    "é",
    "\\u0000",
    "%PDF-1.7\n",
    "stream\n",
];

pub fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => select(PIECES.as_slice()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..8),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A real file with a few changed bytes.
pub fn damaged_pdf() -> impl Strategy<Value = Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/handbook.pdf");
    let file = std::fs::read(path).unwrap_or_default();
    vec((any::<Index>(), any::<u8>()), 1..20).prop_map(move |changes| {
        let mut file = file.clone();
        for (place, byte) in changes {
            *place.get_mut(&mut file) = byte;
        }
        file
    })
}
