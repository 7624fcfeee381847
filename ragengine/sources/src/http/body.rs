use std::io::Write;
use std::path::Path;

use flate2::write::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::CONTENT_ENCODING;

use crate::FetchError;
use crate::spool::{Spool, Spooled};

/// Decodes the parts of a body, and writes them to a file.
enum Decoder {
    Plain(Spool),
    Gzip(Box<MultiGzDecoder<Spool>>),
}

impl Decoder {
    /// `coding` is the value of `Content-Encoding`.
    fn new(coding: &str, spool: Spool) -> Result<Self, FetchError> {
        match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Plain(spool)),
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(spool)))),
            _ => Err(FetchError::Answer("its Content-Encoding is not supported".into())),
        }
    }

    fn write_all(&mut self, part: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Plain(spool) => spool.write_all(part),
            Self::Gzip(decoder) => decoder.write_all(part),
        }
    }

    fn finish(self) -> std::io::Result<Spooled> {
        match self {
            Self::Plain(spool) => Ok(spool.finish()),
            Self::Gzip(decoder) => Ok(decoder.finish()?.finish()),
        }
    }
}

/// Streams a body into the work folder. The limit applies to the decompressed size.
pub async fn save(
    mut response: Response,
    work_folder: &Path,
    max_bytes: u64,
    explain: impl Fn(&reqwest::Error) -> FetchError,
) -> Result<Spooled, FetchError> {
    let coding = response.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?").to_owned());
    if coding.is_none() && response.content_length().is_some_and(|length| length > max_bytes) {
        return Err(FetchError::TooLarge { max_bytes });
    }
    let mut decoder = Decoder::new(coding.as_deref().unwrap_or_default(), Spool::new(work_folder, max_bytes)?)?;
    while let Some(part) = response.chunk().await.map_err(|error| explain(&error))? {
        decoder.write_all(&part).map_err(|error| explain_writing(error, max_bytes))?;
    }
    decoder.finish().map_err(|error| explain_writing(error, max_bytes))
}

fn explain_writing(error: std::io::Error, max_bytes: u64) -> FetchError {
    match error.kind() {
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof => {
            FetchError::Answer("its body does not match its Content-Encoding".into())
        }
        _ => Spool::explain(error, max_bytes),
    }
}
