use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use reqwest::Url;

use super::client::{Answer, Web};
use super::name::path_of;
use super::origins::{Origins, origin_of};
use super::sitemap::{self, Sitemap};
use crate::address::parse_url;
use crate::listing::ListingBuilder;
use crate::{Access, FetchError, SourceError, path};

/// The longest sitemap in bytes, unpacked.
const MAX_SITEMAP_BYTES: u64 = 20 * 1024 * 1024;

/// How many sitemaps a sitemap may lead to, and over how many others.
const MAX_SITEMAPS: usize = 1000;
const MAX_DEPTH: usize = 3;

/// What a source names itself, and a sitemap may lead to.
#[derive(Clone, Copy)]
pub struct Trusted<'a> {
    /// Origins beside the sitemap's.
    pub origins: &'a Origins,
    /// Single pages.
    pub pages: &'a [Url],
}

/// A sitemap, and where it was read after all redirects.
struct Found {
    sitemap: Sitemap,
    read_at: Url,
}

/// The pages of a sitemap and of those that it leads to. When one of them cannot be had, nothing is known of its pages, and so of the whole. A
/// sitemap without pages may be incomplete, so no page of the source counts as gone. Pages of another origin than the sitemap's, as the source names
/// it or where it is read, are errors, unless they are allowed or were named themselves.
pub async fn list(
    web: &Web,
    first: Url,
    trusted: Trusted<'_>,
    access: &Access,
    listing: &mut ListingBuilder,
) -> Result<Vec<Url>, SourceError> {
    let named: HashSet<String> = trusted.pages.iter().map(path_of).collect();
    let mut origins = trusted.origins.with(&first);
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = vec![(first, 0)];
    let mut pages = Vec::new();
    while let Some((url, depth)) = waiting.pop() {
        let Found { sitemap, read_at } = read(web, &url, access).await?;
        let own = origins.with(&read_at);
        if depth == 0 {
            origins = own.clone();
        }
        if !lists_something(&sitemap) {
            listing.add_incomplete(format!(
                "the sitemap {url} lists no pages, so it may be incomplete: nothing of the source is deleted"
            ))?;
        }
        for text in sitemap.pages {
            match parse_url(&text) {
                Ok(page) if own.contain(&page) => pages.push(page),
                Ok(page) => add_foreign_page(&page, &url, &named, listing)?,
                Err(error) => listing.add_error(path::shown(&text), error.to_string())?,
            }
        }
        if pages.len() > access.limits.max_files {
            return Err(SourceError::TooManyFiles { max_files: access.limits.max_files });
        }
        for text in sitemap.sitemaps {
            let next = parse_url(&text)?;
            match seen.insert(next.clone()) {
                true if own.contain(&next) => waiting.push((next, depth + 1)),
                true => listing.add_incomplete(foreign(&next, &url))?,
                false => {}
            }
        }
        if seen.len() > MAX_SITEMAPS || waiting.iter().any(|(_, depth)| *depth > MAX_DEPTH) {
            return Err(content(&url, "it leads to too many sitemaps"));
        }
    }
    Ok(pages)
}

fn lists_something(sitemap: &Sitemap) -> bool {
    !sitemap.sitemaps.is_empty() || sitemap.pages.iter().any(|page| parse_url(page).is_ok())
}

/// A page that is not asked for. What is known of it stays, as that of any file with an error.
fn add_foreign_page(
    page: &Url,
    sitemap: &Url,
    named: &HashSet<String>,
    listing: &mut ListingBuilder,
) -> Result<(), SourceError> {
    listing.see()?;
    let path = path_of(page);
    if named.contains(&path) || !listing.takes(&path) {
        return Ok(());
    }
    let path = if path::check_name(&path).is_ok() { path } else { path::shown(&path) };
    listing.add_error(path, foreign(page, sitemap))
}

fn foreign(listed: &Url, sitemap: &Url) -> String {
    let origin = origin_of(listed);
    format!("the sitemap {sitemap} lists {listed}, which is of another origin: allowedOrigins can name {origin}")
}

async fn read(web: &Web, url: &Url, access: &Access) -> Result<Found, SourceError> {
    let failed = |source| SourceError::Sitemap { url: url.to_string(), source };
    let (file, read_at) = match web.get(url, None, MAX_SITEMAP_BYTES).await.map_err(failed)? {
        Answer::File { file, read_at } => (file, read_at),
        Answer::Gone | Answer::Unchanged => return Err(failed(FetchError::Status { status: 404 })),
    };
    let max_addresses = access.limits.max_files + MAX_SITEMAPS;
    let parse = move || parse_file(&file.path_on_disk, max_addresses);
    let parsed = tokio::task::spawn_blocking(parse).await.map_err(|error| SourceError::Internal(error.to_string()))?;
    Ok(Found { sitemap: parsed.map_err(|reason| content(url, &reason))?, read_at })
}

/// Reads a sitemap that may be packed as a file, which has nothing to do with how it was sent.
fn parse_file(path: &std::path::Path, max_addresses: usize) -> Result<Sitemap, String> {
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
