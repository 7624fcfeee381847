//! The bytes of a file that a test describes.

use std::io::Write;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ragengine_e2e::changes::Content;

/// The size of one write, in bytes.
const BLOCK_BYTES: usize = 1 << 16;

/// The content of a file: a pattern that is repeated up to a length.
pub struct Bytes {
    source: Vec<u8>,
    /// The length in bytes.
    pub length: usize,
}

/// Returns the bytes of a regular file. Fails for links and submodules.
pub fn bytes(content: &Content) -> anyhow::Result<Bytes> {
    let whole = |source: Vec<u8>| Bytes { length: source.len(), source };
    Ok(match content {
        Content::Text(text) => whole(text.clone().into_bytes()),
        Content::Base64(text) => whole(BASE64_STANDARD.decode(text).context("the content is not Base64")?),
        Content::Repeated { line, bytes } => {
            let times = BLOCK_BYTES.div_ceil(line.len().max(1));
            Bytes { source: line.repeat(times).into_bytes(), length: *bytes }
        }
        Content::Link(_) | Content::Submodule(_) => bail!("a link or a submodule is not a file"),
    })
}

impl Bytes {
    /// Writes all bytes.
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
