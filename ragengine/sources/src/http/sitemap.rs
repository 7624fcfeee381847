//! Parses sitemaps: XML as in <https://www.sitemaps.org/protocol.html>, or text with one address per line.

use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// The maximum depth of nested elements. A sitemap has three levels; extensions have a few more.
const MAX_DEPTH: usize = 32;

/// The maximum length of an address, in bytes.
const MAX_ADDRESS_BYTES: usize = 8192;

/// The error of a longer one.
const TOO_LONG: &str = "it has an address longer than 8192 bytes";

/// The error of an empty body. It does not mean that there are no pages, because a broken server may send one.
const EMPTY: &str = "it is empty";

/// The addresses in a sitemap.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// The addresses of pages.
    pub pages: Vec<String>,
    /// The addresses of other sitemaps.
    pub sitemaps: Vec<String>,
}

impl Sitemap {
    /// Adds the text of an element if it is an address. An empty one is kept too: its page may still exist.
    fn add(&mut self, element: Element, text: &str) {
        match element {
            Element::PageAddress => self.pages.push(text.trim().to_owned()),
            Element::SitemapAddress => self.sitemaps.push(text.trim().to_owned()),
            Element::Page | Element::Sitemap | Element::Other => {}
        }
    }
}

/// The meaning of an XML element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Page,
    Sitemap,
    PageAddress,
    SitemapAddress,
    Other,
}

/// Parses a sitemap.
///
/// # Errors
///
/// A message for the user, when the text is not a sitemap, or has more than `max_addresses` addresses.
pub fn parse(mut text: impl BufRead, max_addresses: usize) -> Result<Sitemap, String> {
    let beginning = text.fill_buf().map_err(|error| error.to_string())?;
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    if beginning.starts_with(b"<") { parse_xml(text, max_addresses) } else { parse_lines(text, max_addresses) }
}

fn parse_lines(text: impl BufRead, max_addresses: usize) -> Result<Sitemap, String> {
    let mut found = Sitemap::default();
    for line in text.lines() {
        let line = line.map_err(|error| error.to_string())?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.len() > MAX_ADDRESS_BYTES {
            return Err(TOO_LONG.into());
        }
        if !line.is_empty() {
            found.pages.push(line.to_owned());
            check_number(&found, max_addresses)?;
        }
    }
    if found.pages.is_empty() { Err(EMPTY.into()) } else { Ok(found) }
}

fn parse_xml(text: impl BufRead, max_addresses: usize) -> Result<Sitemap, String> {
    let mut reader = Reader::from_reader(text);
    let mut buffer = Vec::new();
    let mut open: Vec<Element> = Vec::new();
    let mut address = String::new();
    let mut found = Sitemap::default();
    let mut has_root = false;
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(|error| error.to_string())? {
            Event::Start(start) => {
                check_root(&open, start.local_name().as_ref())?;
                open.push(element(open.last().copied(), start.local_name().as_ref()));
                if open.len() > MAX_DEPTH {
                    return Err("its elements are nested too deeply".into());
                }
                address.clear();
                has_root = true;
            }
            Event::Empty(empty) if open.is_empty() => {
                check_root(&open, empty.local_name().as_ref())?;
                has_root = true;
            }
            // The same as an element without text.
            Event::Empty(empty) => found.add(element(open.last().copied(), empty.local_name().as_ref()), ""),
            Event::End(_) => found.add(open.pop().unwrap_or(Element::Other), &address),
            Event::Text(text) if is_address(&open) => {
                address.push_str(&text.decode().map_err(|error| error.to_string())?)
            }
            Event::CData(text) if is_address(&open) => {
                address.push_str(&text.decode().map_err(|error| error.to_string())?)
            }
            Event::GeneralRef(reference) if is_address(&open) => push_reference(&reference, &mut address)?,
            Event::Eof if !has_root => return Err(EMPTY.into()),
            Event::Eof if open.is_empty() => return Ok(found),
            Event::Eof => return Err("it is incomplete: an element is not closed".into()),
            _ => {}
        }
        if address.len() > MAX_ADDRESS_BYTES {
            return Err(TOO_LONG.into());
        }
        check_number(&found, max_addresses)?;
    }
}

/// Classifies an element by its name and its parent. Extensions also have `loc` elements, such as that of an image, but
/// not as a child of a page.
fn element(parent: Option<Element>, local_name: &[u8]) -> Element {
    match (parent, local_name) {
        (Some(Element::Page), b"loc") => Element::PageAddress,
        (Some(Element::Sitemap), b"loc") => Element::SitemapAddress,
        (Some(_), b"url") => Element::Page,
        (Some(_), b"sitemap") => Element::Sitemap,
        _ => Element::Other,
    }
}

fn check_root(open: &[Element], local_name: &[u8]) -> Result<(), String> {
    match (open, local_name) {
        ([], b"urlset" | b"sitemapindex") | ([_, ..], _) => Ok(()),
        _ => Err("it is not a sitemap: its root element is neither urlset nor sitemapindex".into()),
    }
}

fn is_address(open: &[Element]) -> bool {
    matches!(open.last(), Some(Element::PageAddress | Element::SitemapAddress))
}

/// Resolves a reference such as `&amp;` or `&#38;`. Entities that a document defines are refused, which prevents
/// exponential expansion.
fn push_reference(reference: &BytesRef<'_>, address: &mut String) -> Result<(), String> {
    if let Some(letter) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        address.push(letter);
        return Ok(());
    }
    let name = reference.decode().map_err(|error| error.to_string())?;
    address.push_str(resolve_predefined_entity(&name).ok_or("it has an entity that is not predefined in XML")?);
    Ok(())
}

fn check_number(found: &Sitemap, max_addresses: usize) -> Result<(), String> {
    if found.pages.len() + found.sitemaps.len() > max_addresses {
        return Err(format!("it has more than {max_addresses} addresses"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
