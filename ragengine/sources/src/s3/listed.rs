//! What a server lists, without the keys that the library cannot have: one of them would cost the whole listing.

use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::Event;

/// A page of a listing, as XML, and the keys that were left out of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// The page without them. What cannot be read as XML is as it came: the library says what is wrong with it.
    pub xml: Vec<u8>,
    /// The keys.
    pub odd_keys: Vec<String>,
}

/// Leaves out what has a key that is no path, such as `a//b` and `/a`.
pub fn without_odd_keys(xml: &[u8]) -> Listed {
    let odd: Vec<(Range<usize>, String)> =
        objects(xml).unwrap_or_default().into_iter().filter(|(_, key)| is_odd(key)).collect();
    let mut kept = Vec::with_capacity(xml.len());
    let mut from = 0;
    for (range, _) in &odd {
        kept.extend_from_slice(&xml[from..range.start]);
        from = range.end;
    }
    kept.extend_from_slice(&xml[from..]);
    Listed { xml: kept, odd_keys: odd.into_iter().map(|(_, key)| key).collect() }
}

/// Where each object stands in the page, and its key.
fn objects(xml: &[u8]) -> Option<Vec<(Range<usize>, String)>> {
    let mut reader = Reader::from_reader(xml);
    let (mut objects, mut begin, mut key) = (Vec::new(), None, None::<String>);
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        match reader.read_event().ok()? {
            Event::Eof => return Some(objects),
            Event::Start(tag) if tag.local_name().as_ref() == b"Contents" => (begin, key) = (Some(before), None),
            Event::Start(tag) if tag.local_name().as_ref() == b"Key" && begin.is_some() => {
                let text = reader.read_text(tag.name()).ok()?;
                let text = text.decode().ok()?;
                key = Some(quick_xml::escape::unescape(&text).ok()?.into_owned());
            }
            Event::End(tag) if tag.local_name().as_ref() == b"Contents" => {
                let end = usize::try_from(reader.buffer_position()).ok()?;
                objects.extend(begin.take().zip(key.take()).map(|(begin, key)| (begin..end, key)));
            }
            _ => {}
        }
    }
}

/// Whether a key is no path. One that ends with a slash stands for a folder.
fn is_odd(key: &str) -> bool {
    let path = key.strip_suffix('/').unwrap_or(key);
    path.starts_with('/') || object_store::path::Path::parse(path).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(key: &str) -> String {
        format!("<Contents><Key>{key}</Key><Size>1</Size><ETag>\"a\"</ETag></Contents>\n")
    }

    fn page(keys: &[&str]) -> String {
        let objects: String = keys.iter().map(|key| object(key)).collect();
        format!("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
    }

    #[test]
    fn an_odd_key_costs_itself_alone() {
        let keys = ["a.md", "a//b.md", "sub/", "/c.md", "d/../e.md", "R&amp;D/f.md", "g&amp;//h.md", "./i.md", "//"];
        let listed = without_odd_keys(page(&keys).as_bytes());
        assert_eq!(listed.odd_keys, ["a//b.md", "/c.md", "d/../e.md", "g&//h.md", "./i.md", "//"]);
        let rest = String::from_utf8(listed.xml).unwrap().replace("\n\n", "\n");
        let whole: String = page(&["a.md", "sub/", "R&amp;D/f.md"]);
        assert_eq!(rest.replace('\n', ""), whole.replace('\n', ""));
    }

    #[test]
    fn what_is_no_page_is_as_it_came() {
        for text in
            ["", "not XML", "<Contents><Key>a//b</Key>", "<Error><Code>NoSuchBucket</Code></Error>", "<a><b></a>"]
        {
            let expected = Listed { xml: text.as_bytes().to_vec(), odd_keys: Vec::new() };
            assert_eq!(without_odd_keys(text.as_bytes()), expected, "{text}");
        }
    }
}
