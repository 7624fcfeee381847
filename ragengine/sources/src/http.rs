//! Web pages, configured one by one or listed in a sitemap.

mod body;
mod chain;
mod client;
mod name;
mod origins;
mod retry;
mod revision;
mod sitemap;
mod sitemaps;

use std::collections::HashMap;

pub use client::client_builder;
use client::{Answer, Web};
use origins::Origins;
use ragengine_settings::sync;
use reqwest::Url;

use crate::address::parse_url;
use crate::credentials::check_receiver;
use crate::listing::ListingBuilder;
use crate::{Access, FetchError, Fetched, Item, SourceError, path};

/// The listed pages of a source.
#[derive(Debug)]
pub struct Http {
    web: Web,
    urls: HashMap<String, Url>,
    max_file_bytes: u64,
}

impl Http {
    /// Lists the configured pages and those of the sitemap.
    pub async fn open(source: &sync::Http, access: &Access, listing: &mut ListingBuilder) -> Result<Self, SourceError> {
        let mut configured = source.urls.iter().map(|url| parse_url(url)).collect::<Result<Vec<_>, _>>()?;
        let sitemap = source.sitemap.as_deref().map(parse_url).transpose()?;
        let allowed = Origins::parse(&source.allowed_origins)?;
        let trusted: Vec<_> = configured.iter().chain(&sitemap).cloned().collect();
        if source.credentials.is_some() {
            trusted.iter().try_for_each(|url| check_receiver(&source.credential_hosts, url, &access.proxies))?;
        }
        let web = Web::new(source.credentials.as_deref(), trusted, access)?;
        if let Some(sitemap) = sitemap {
            let named = sitemaps::Trusted { origins: &allowed, pages: &configured };
            let listed = sitemaps::list(&web, sitemap, named, access, listing).await?;
            configured.extend(listed);
        }
        let mut urls = HashMap::new();
        for url in configured {
            let path = name::path_of(&url);
            listing.add_named(Item { path: path.clone(), revision: None, size_bytes: None })?;
            if listing.selects(&path) && path::check_name(&path).is_ok() {
                urls.entry(path).or_insert(url);
            }
        }
        Ok(Self { web, urls, max_file_bytes: access.limits.max_file_bytes })
    }

    /// Fetches a page with a conditional request, unless it still has the known revision.
    pub async fn fetch(&self, path: &str, known: Option<&str>) -> Result<Fetched, FetchError> {
        let Some(url) = self.urls.get(path) else {
            return Ok(Fetched::Gone);
        };
        match self.web.get(url, known, self.max_file_bytes).await? {
            Answer::Unchanged => Ok(Fetched::Unchanged),
            Answer::Gone => Ok(Fetched::Gone),
            Answer::File { file, .. } => Ok(Fetched::File(*file)),
        }
    }
}
