//! The bytes of a file that a test describes.

use std::io::Write;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ragengine_e2e::changes::Content;

/// How many bytes are written at a time.
const BLOCK_BYTES: usize = 1 << 16;

/// How long it is, and the bytes that it is written from, over and over.
pub struct Bytes {
    source: Vec<u8>,
    /// How many bytes it has.
    pub length: usize,
}

/// The bytes of what is a file.
pub fn bytes(content: &Content) -> anyhow::Result<Bytes> {
    let whole = |source: Vec<u8>| Bytes { length: source.len(), source };
    Ok(match content {
        Content::Text(text) => whole(text.clone().into_bytes()),
        Content::Base64(text) => whole(BASE64_STANDARD.decode(text).context("this is no Base64")?),
        Content::Repeated { line, bytes } => {
            let times = BLOCK_BYTES.div_ceil(line.len().max(1));
            Bytes { source: line.repeat(times).into_bytes(), length: *bytes }
        }
        Content::Link(_) | Content::Submodule(_) => bail!("this is no file"),
    })
}

impl Bytes {
    /// Writes all of them.
    pub fn write_to(&self, to: &mut impl Write) -> std::io::Result<()> {
        let mut left = self.length;
        while left > 0 {
            let part = &self.source[..left.min(self.source.len())];
            to.write_all(part)?;
            left -= part.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_repeated_until_there_are_enough_bytes() {
        let line = "abc\n".to_owned();
        for wanted in [0, 3, BLOCK_BYTES + 5, 3 * BLOCK_BYTES] {
            let mut written = Vec::new();
            bytes(&Content::Repeated { line: line.clone(), bytes: wanted }).unwrap().write_to(&mut written).unwrap();
            assert_eq!(written.len(), wanted);
            assert!(written.chunks(4).all(|chunk| line.as_bytes().starts_with(chunk)));
        }
    }
}
