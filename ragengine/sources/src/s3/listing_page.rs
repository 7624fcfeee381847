//! Removes objects that are not files from a listing, because the library refuses a whole listing with one invalid key.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// A page of a listing, without the objects that are not files.
#[derive(Debug, PartialEq, Eq)]
pub struct ListingPage {
    /// The page, as XML.
    pub xml: Vec<u8>,
    /// The objects that were removed.
    pub left_out: Vec<LeftOut>,
}

/// An object that is not a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// An empty object whose key ends with a slash, which stands for a folder.
    Folder,
    /// An object whose key is not a path, such as `a//b` or `/a`. `a/` is such a key when the object has content.
    Odd(String),
}

/// The page is not a complete listing. The library treats some of these as the end of the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The page is not a listing, or is truncated.
    #[error("it is not a bucket listing, or only a part of one")]
    NoListing,
    /// The listing has more pages, but no token for the next one.
    #[error("the bucket listing is incomplete: it has no token for the next page")]
    NoNextPage,
}

/// Removes the objects that are not files from a page.
///
/// # Errors
///
/// When the page is not a complete listing.
pub fn files_of(xml: &[u8]) -> Result<ListingPage, PageError> {
    let page = read(xml).filter(|page| page.is_whole).ok_or(PageError::NoListing)?;
    if page.is_truncated && !page.has_next {
        return Err(PageError::NoNextPage);
    }
    let mut listed = ListingPage { xml: Vec::with_capacity(xml.len()), left_out: Vec::new() };
    let mut from = 0;
    for object in page.objects {
        let range = object.range.clone();
        if let Some(left_out) = left_out(object) {
            listed.xml.extend_from_slice(&xml[from..range.start]);
            listed.left_out.push(left_out);
            from = range.end;
        }
    }
    listed.xml.extend_from_slice(&xml[from..]);
    Ok(listed)
}

/// The parts of a page that are used here.
#[derive(Default)]
struct Page {
    objects: Vec<Object>,
    /// Whether the root element is that of a listing, and is closed.
    is_whole: bool,
    is_truncated: bool,
    has_next: bool,
}

#[derive(Default)]
struct Object {
    /// The position in the page, in bytes.
    range: Range<usize>,
    key: Option<String>,
    size: Option<u64>,
}

fn read(xml: &[u8]) -> Option<Page> {
    const ROOT: &[u8] = b"ListBucketResult";
    let mut reader = Reader::from_reader(xml);
    let (mut page, mut object, mut root) = (Page::default(), None::<Object>, None::<Vec<u8>>);
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        match reader.read_event().ok()? {
            Event::Eof => return Some(page),
            Event::Start(tag) => {
                let name = tag.local_name().as_ref().to_vec();
                match (name.as_slice(), &mut object) {
                    (b"Contents", _) => object = Some(Object { range: before..before, ..Object::default() }),
                    (b"Key", Some(object)) => object.key = Some(text(&mut reader, &tag)?),
                    (b"Size", Some(object)) => object.size = text(&mut reader, &tag)?.trim().parse().ok(),
                    (b"IsTruncated", None) => page.is_truncated = text(&mut reader, &tag)?.trim() == "true",
                    (b"NextContinuationToken", None) => page.has_next = !text(&mut reader, &tag)?.is_empty(),
                    _ => {}
                }
                root.get_or_insert(name);
            }
            Event::Empty(tag) if root.is_none() => page.is_whole = tag.local_name().as_ref() == ROOT,
            Event::End(tag) if tag.local_name().as_ref() == b"Contents" => {
                let end = usize::try_from(reader.buffer_position()).ok()?;
                page.objects.extend(object.take().map(|object| Object { range: object.range.start..end, ..object }));
            }
            Event::End(tag) if tag.local_name().as_ref() == ROOT => page.is_whole = root.as_deref() == Some(ROOT),
            _ => {}
        }
    }
}

fn text(reader: &mut Reader<&[u8]>, tag: &BytesStart<'_>) -> Option<String> {
    let text = reader.read_text(tag.name()).ok()?;
    let text = text.decode().ok()?;
    Some(quick_xml::escape::unescape(&text).ok()?.into_owned())
}

/// Whether an object is removed, and why. An object without a key stays, because the library reports it as an error.
fn left_out(object: Object) -> Option<LeftOut> {
    let Object { key: Some(key), size, .. } = object else {
        return None;
    };
    let is_odd = key.starts_with('/') || key.ends_with('/') || object_store::path::Path::parse(&key).is_err();
    if key.ends_with('/') && size == Some(0) {
        return Some(LeftOut::Folder);
    }
    is_odd.then_some(LeftOut::Odd(key))
}

#[cfg(test)]
mod tests;
