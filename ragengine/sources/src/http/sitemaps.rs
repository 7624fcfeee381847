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

/// The maximum size of a sitemap in bytes, after decompression.
const MAX_SITEMAP_BYTES: u64 = 20 * 1024 * 1024;

/// The maximum number of sitemaps, and the maximum depth of nested ones.
const MAX_SITEMAPS: usize = 1000;
const MAX_DEPTH: usize = 3;

/// The configured origins and pages that a sitemap may list.
#[derive(Clone, Copy)]
pub struct Trusted<'a> {
    /// Allowed origins, in addition to that of the sitemap.
    pub origins: &'a Origins,
    /// Pages that are configured one by one.
    pub pages: &'a [Url],
}

/// A sitemap, and its URL after all redirects.
struct FetchedSitemap {
    sitemap: Sitemap,
    read_at: Url,
}

/// Lists the pages of a sitemap and of all nested sitemaps. If one sitemap cannot be fetched, the whole listing fails.
/// If a sitemap has no pages, or entries that are not addresses, it may be incomplete, so no page of the source counts
/// as removed. A page of another origin than its sitemap (as configured, or after redirects) is an error, unless its
/// origin is allowed or the page is configured.
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
        let FetchedSitemap { sitemap, read_at } = read(web, &url, access).await?;
        let own = origins.with(&read_at);
        if depth == 0 {
            origins = own.clone();
        }
        if let Some(reason) = why_incomplete(&sitemap) {
            listing.add_incomplete(format!(
                "the sitemap {url} {reason}, so it may be incomplete: no documents of the source are deleted"
            ))?;
        }
        for page in sitemap.pages.iter().filter_map(|text| parse_url(text).ok()) {
            if own.contain(&page) {
                pages.push(page);
            } else {
                add_foreign_page(&page, &url, &named, listing)?;
            }
        }
        if pages.len() > access.limits.max_files {
            return Err(SourceError::TooManyFiles { max_files: access.limits.max_files });
        }
        for text in sitemap.sitemaps {
            let next = parse_url(&text)?;
            if !seen.insert(next.clone()) {
                continue;
            }
            if own.contain(&next) {
                waiting.push((next, depth + 1));
            } else {
                listing.add_incomplete(foreign(&next, &url))?;
            }
        }
        if seen.len() > MAX_SITEMAPS || waiting.iter().any(|(_, depth)| *depth > MAX_DEPTH) {
            let reason =
                format!("it leads to more than {MAX_SITEMAPS} sitemaps, or to more than {MAX_DEPTH} levels of them");
            return Err(content(&url, &reason));
        }
    }
    Ok(pages)
}

/// Why pages may be missing in a sitemap. The page of an entry that is not an address is not known, so it could be any
/// page of the source.
fn why_incomplete(sitemap: &Sitemap) -> Option<String> {
    let mut unusable = sitemap.pages.iter().filter_map(|page| parse_url(page).err());
    let first = unusable.next();
    let number = usize::from(first.is_some()) + unusable.count();
    if number == sitemap.pages.len() && sitemap.sitemaps.is_empty() {
        return Some("lists no pages".to_owned());
    }
    let error = path::shown(&first?.to_string());
    Some(format!("has {number} entries that cannot be used ({error})"))
}

/// Adds the error of a page of another origin. It is not fetched, and its documents are kept, as for any file with an
/// error.
fn add_foreign_page(
    page: &Url,
    sitemap: &Url,
    named: &HashSet<String>,
    listing: &mut ListingBuilder,
) -> Result<(), SourceError> {
    listing.count_entry()?;
    let path = path_of(page);
    if named.contains(&path) || !listing.selects(&path) {
        return Ok(());
    }
    let path = if path::check_name(&path).is_ok() { path } else { path::shown(&path) };
    listing.add_error(path, foreign(page, sitemap))
}

fn foreign(listed: &Url, sitemap: &Url) -> String {
    let origin = origin_of(listed);
    format!(
        "the sitemap {sitemap} lists {listed}, which has another origin: add {origin} to allowedOrigins to fetch it"
    )
}

async fn read(web: &Web, url: &Url, access: &Access) -> Result<FetchedSitemap, SourceError> {
    let failed = |source| SourceError::Sitemap { url: url.to_string(), source };
    let (file, read_at) = match web.get(url, None, MAX_SITEMAP_BYTES).await.map_err(failed)? {
        Answer::File { file, read_at } => (file, read_at),
        Answer::Gone | Answer::Unchanged => return Err(failed(FetchError::Status { status: 404 })),
    };
    let max_addresses = access.limits.max_files + MAX_SITEMAPS;
    let parse = move || parse_file(&file.path_on_disk, max_addresses);
    let parsed = tokio::task::spawn_blocking(parse).await.map_err(|error| SourceError::Internal(error.to_string()))?;
    Ok(FetchedSitemap { sitemap: parsed.map_err(|reason| content(url, &reason))?, read_at })
}

/// Parses a sitemap file, which may be compressed independently of `Content-Encoding`.
fn parse_file(path: &std::path::Path, max_addresses: usize) -> Result<Sitemap, String> {
    let mut file = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
    let is_packed = file.fill_buf().map_err(|error| error.to_string())?.starts_with(&[0x1f, 0x8b]);
    if !is_packed {
        return sitemap::parse(file, max_addresses);
    }
    // Reads up to one byte more than the limit. If that byte is reached, the content is too large.
    let mut unpacked = BufReader::new(MultiGzDecoder::new(file).take(MAX_SITEMAP_BYTES + 1));
    let parsed = sitemap::parse(&mut unpacked, max_addresses);
    if unpacked.get_ref().limit() == 0 {
        Err(format!("it is larger than {MAX_SITEMAP_BYTES} bytes: split it"))
    } else {
        parsed
    }
}

fn content(url: &Url, reason: &str) -> SourceError {
    SourceError::SitemapContent { url: url.to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sitemap_with_entries_that_are_not_addresses_may_be_incomplete() {
        let page = "https://docs.example.com/a";
        let odd = "has 2 entries that cannot be used (the address '/b' is invalid: ";
        let secret = "has 1 entries that cannot be used (the address 'https://…@docs.example.com/' is invalid: ";
        let cases: [(&[&str], &[&str], Option<&str>); 7] = [
            (&[page], &[], None),
            (&[], &[page], None),
            (&[page, "/b", "file:///c"], &[], Some(odd)),
            (&["/b", ""], &[page], Some(odd)),
            (&["https://me:secret@docs.example.com/", page], &[], Some(secret)),
            (&["/b", ""], &[], Some("lists no pages")),
            (&[], &[], Some("lists no pages")),
        ];
        for (pages, sitemaps, expected) in cases {
            let [pages, sitemaps] = [pages, sitemaps].map(|list| list.iter().map(|text| (*text).to_owned()).collect());
            let found = why_incomplete(&Sitemap { pages, sitemaps });
            let is_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.starts_with(expected),
                (None, None) => true,
                _ => false,
            };
            assert!(is_expected, "{found:?} {expected:?}");
        }
    }
}
