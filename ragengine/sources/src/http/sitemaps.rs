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
use crate::{Access, FetchError, Item, SourceError, path};

/// The maximum size of a sitemap in bytes, after decompression.
const MAX_SITEMAP_BYTES: u64 = 20 * 1024 * 1024;

/// The maximum number of sitemaps, and the maximum depth of nested ones.
const MAX_SITEMAPS: usize = 1000;
const MAX_DEPTH: usize = 3;

/// The maximum length of an address in a message, in characters. A sitemap can cause as many messages as it has pages.
const MAX_SHOWN_CHARS: usize = 150;

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
                "the sitemap {} {reason}, so it may be incomplete: no documents of the source are deleted",
                shown(&url)
            ))?;
        }
        for page in sitemap.pages.iter().filter_map(|text| parse_url(text).ok()) {
            if own.contain(&page) {
                pages.extend(with_usable_name(page, listing)?);
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
    let error = path::shown_within(&first?.to_string(), 2 * MAX_SHOWN_CHARS);
    Some(format!("has {number} entries that cannot be used ({error})"))
}

/// The page, unless its name is too long: then its address is as long, and is not kept, and its error is added.
fn with_usable_name(mut page: Url, listing: &mut ListingBuilder) -> Result<Option<Url>, SourceError> {
    // It is not part of the name, and not sent.
    page.set_fragment(None);
    let path = path_of(&page);
    if path::check_name(&path).is_ok() {
        return Ok(Some(page));
    }
    listing.add_named(Item { path, revision: None, size_bytes: None })?;
    Ok(None)
}

fn shown(url: &Url) -> String {
    path::shown_within(url.as_str(), MAX_SHOWN_CHARS)
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
    let origin = path::shown_within(&origin_of(listed), MAX_SHOWN_CHARS);
    let [sitemap, listed] = [sitemap, listed].map(shown);
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
    use crate::filter::Filter;

    #[test]
    fn a_page_whose_name_is_too_long_is_not_kept() {
        let of = |start: &str, bytes: usize| format!("https://a.example/{start}{}", "x".repeat(bytes));
        for (address, kept, errors) in [
            (of("", 300), Some(of("", 300)), 0),
            (of("b#", 8000), Some("https://a.example/b".to_owned()), 0),
            (of("", 400), None, 1),
            (of("?", 8000), None, 1),
            (of("skipped/", 8000), None, 0),
        ] {
            let mut listing = ListingBuilder::new(Filter::new(&[], &["*/skipped/**".to_owned()]).unwrap(), 10);
            let page = with_usable_name(Url::parse(&address).unwrap(), &mut listing).unwrap();
            assert_eq!(page.map(String::from), kept, "{address}");
            assert_eq!(listing.finish().errors.len(), errors, "{address}");
        }
    }

    #[test]
    fn a_message_is_short_whatever_a_sitemap_says() {
        let long = Url::parse(&format!("https://a.example/{}", "x".repeat(8000))).unwrap();
        assert!(foreign(&long, &long).len() < 700);
        let sitemap = Sitemap { pages: vec!["x".repeat(8000)], sitemaps: vec![String::new()] };
        assert!(why_incomplete(&sitemap).is_some_and(|reason| reason.len() < 700));
    }

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
