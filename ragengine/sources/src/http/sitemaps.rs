use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use reqwest::Url;

use super::client::{Answer, Web};
use super::sitemap::{self, Sitemap};
use crate::address::parse_url;
use crate::listing::ListingBuilder;
use crate::{Access, FetchError, SourceError};

/// The longest sitemap in bytes, unpacked.
const MAX_SITEMAP_BYTES: u64 = 20 * 1024 * 1024;

/// How many sitemaps a sitemap may lead to, and over how many others.
const MAX_SITEMAPS: usize = 1000;
const MAX_DEPTH: usize = 3;

/// The pages of a sitemap and of those that it leads to. When one of them cannot be had, nothing is known of its pages, and so of the whole.
pub async fn list(
    web: &Web,
    first: Url,
    access: &Access,
    listing: &mut ListingBuilder,
) -> Result<Vec<Url>, SourceError> {
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = vec![(first, 0)];
    let mut pages = Vec::new();
    while let Some((url, depth)) = waiting.pop() {
        let found = read(web, &url, access).await?;
        for text in found.pages {
            match parse_url(&text) {
                Ok(page) => pages.push(page),
                Err(error) => listing.add_error(crate::path::shown(&text), error.to_string())?,
            }
        }
        if pages.len() > access.limits.max_files {
            return Err(SourceError::TooManyFiles { max_files: access.limits.max_files });
        }
        for text in found.sitemaps {
            let next = parse_url(&text)?;
            if seen.insert(next.clone()) {
                waiting.push((next, depth + 1));
            }
        }
        if seen.len() > MAX_SITEMAPS || waiting.iter().any(|(_, depth)| *depth > MAX_DEPTH) {
            return Err(content(&url, "it leads to too many sitemaps"));
        }
    }
    Ok(pages)
}

async fn read(web: &Web, url: &Url, access: &Access) -> Result<Sitemap, SourceError> {
    let failed = |source| SourceError::Sitemap { url: url.to_string(), source };
    let file = match web.get(url, None, MAX_SITEMAP_BYTES).await.map_err(failed)? {
        Answer::File(file) => file,
        Answer::Gone | Answer::Unchanged => return Err(failed(FetchError::Status { status: 404 })),
    };
    let max_addresses = access.limits.max_files + MAX_SITEMAPS;
    let parse = move || parse_file(&file.path_on_disk, max_addresses);
    let parsed = tokio::task::spawn_blocking(parse).await.map_err(|error| SourceError::Internal(error.to_string()))?;
    parsed.map_err(|reason| content(url, &reason))
}

/// Reads a sitemap that may be packed as a file, which has nothing to do with how it was sent.
fn parse_file(path: &Path, max_addresses: usize) -> Result<Sitemap, String> {
    let mut file = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
    let is_packed = file.fill_buf().map_err(|error| error.to_string())?.starts_with(&[0x1f, 0x8b]);
    if !is_packed {
        return sitemap::parse(file, max_addresses);
    }
    // One byte more than is allowed: if that is reached there is more.
    let mut unpacked = BufReader::new(MultiGzDecoder::new(file).take(MAX_SITEMAP_BYTES + 1));
    let parsed = sitemap::parse(&mut unpacked, max_addresses);
    if unpacked.get_ref().limit() == 0 { Err(format!("it is longer than {MAX_SITEMAP_BYTES} bytes")) } else { parsed }
}

fn content(url: &Url, reason: &str) -> SourceError {
    SourceError::SitemapContent { url: url.to_string(), reason: reason.to_owned() }
}
