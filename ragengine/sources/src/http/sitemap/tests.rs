use proptest::prelude::*;

use super::*;

fn pages(pages: &[&str]) -> Sitemap {
    Sitemap { pages: pages.iter().map(|page| (*page).to_owned()).collect(), sitemaps: Vec::new() }
}

#[test]
fn sitemaps_are_read() {
    let cases = [
        ("<urlset/>", pages(&[])),
        ("<sitemapindex></sitemapindex>", pages(&[])),
        ("\u{feff}https://a/1\r\n\n  https://a/2  \n", pages(&["https://a/1", "https://a/2"])),
        (
            "\u{feff}<?xml version='1.0' encoding='UTF-8'?>
            <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
              <!-- a comment -->
              <url><loc>https://a/1?x=1&amp;y=&#50;</loc><lastmod>2024-01-01</lastmod></url>
              <url><lastmod/><loc> https://a/2
              </loc></url>
              <url><loc><![CDATA[https://a/3?x&y]]></loc></url>
              <url><loc/></url><url><loc> </loc></url>
            </urlset>",
            // Addresses that are missing are kept, so that the list of pages does not count as complete.
            pages(&["https://a/1?x=1&y=2", "https://a/2", "https://a/3?x&y", "", ""]),
        ),
        (
            "<s:urlset xmlns:s='x'><s:url><s:loc>https://a/1</s:loc>
             <image:image><image:loc>https://a/i.png</image:loc></image:image>
             </s:url></s:urlset>",
            pages(&["https://a/1"]),
        ),
        (
            "<sitemapindex><sitemap><loc>https://a/s1.xml</loc></sitemap>\
             <sitemap><loc>https://a/s2.xml.gz</loc></sitemap></sitemapindex>",
            Sitemap { pages: Vec::new(), sitemaps: vec!["https://a/s1.xml".into(), "https://a/s2.xml.gz".into()] },
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text.as_bytes(), 10).unwrap(), expected, "{text}");
    }
}

#[test]
fn an_invalid_sitemap_is_refused() {
    let deep = format!("<urlset>{}", "<a>".repeat(40));
    let long = format!("<urlset><url><loc>{}</loc></url></urlset>", "a".repeat(9000));
    let cases = [
        ("<!doctype html><html><body>not found</body></html>", "neither urlset"),
        ("<rss></rss>", "neither urlset"),
        ("", "it is empty"),
        (" \r\n", "it is empty"),
        ("\u{feff}", "it is empty"),
        ("<?xml version='1.0'?>", "it is empty"),
        ("<urlset><url>", "not closed"),
        ("<urlset></url>", ""),
        ("<!DOCTYPE x [<!ENTITY a 'aaaa'>]><urlset><url><loc>&a;</loc></url></urlset>", "entity"),
        (deep.as_str(), "too deep"),
        (long.as_str(), "longer than"),
        ("https://a/1\nhttps://a/2\nhttps://a/3", "more than 2"),
        ("<urlset><url><loc>1</loc></url><url><loc>2</loc></url><url><loc>3</loc></url></urlset>", "more than 2"),
    ];
    for (text, expected) in cases {
        let error = parse(text.as_bytes(), 2).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(parse(&b"https://a/\xff"[..], 2).is_err());
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(
        text in "[<>/?!&;#x\\[\\] '\"a-du-z0-3\\-]{0,60}",
        is_inside in any::<bool>(),
    ) {
        let text = if is_inside { format!("<urlset><url><loc>{text}</loc></url></urlset>") } else { text };
        if let Ok(found) = parse(text.as_bytes(), 3) {
            prop_assert!(found.pages.len() + found.sitemaps.len() <= 3);
        }
    }
}
