use super::*;

fn page(objects: &[(&str, u64)]) -> String {
    let object = |(key, size): &(&str, u64)| {
        format!("<Contents><Key>{key}</Key><Size>{size}</Size><ETag>\"a\"</ETag></Contents>\n")
    };
    let objects: String = objects.iter().map(object).collect();
    format!("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
}

#[test]
fn an_invalid_key_does_not_affect_other_objects() {
    let good = [("a.md", 1), ("empty.md", 0), ("R&amp;D/f.md", 1)];
    let odd = ["a//b.md", "sub/", "/c.md", "d/../e.md", "g&amp;//h.md", "./i.md", "/", "//", "docs//"];
    for size in [0, 1] {
        let objects: Vec<_> = good.into_iter().chain(odd.map(|key| (key, size))).collect();
        let listed = files_of(page(&objects).as_bytes()).unwrap();
        let named: Vec<_> = odd
            .iter()
            .map(|key| {
                let is_folder = key.ends_with('/') && size == 0;
                if is_folder { LeftOut::Folder } else { LeftOut::Odd(key.replace("&amp;", "&")) }
            })
            .collect();
        assert_eq!(listed.left_out, named);
        let rest = String::from_utf8(listed.xml).unwrap();
        assert_eq!(rest.replace('\n', ""), page(&good).replace('\n', ""));
    }
}

#[test]
fn an_incomplete_page_is_refused() {
    let cases = [
        ("", PageError::NoListing),
        ("not XML", PageError::NoListing),
        ("<ListBucketResult>", PageError::NoListing),
        ("<ListBucketResult><Contents><Key>a//b</Key>", PageError::NoListing),
        ("<Error><Code>NoSuchBucket</Code></Error>", PageError::NoListing),
        ("<html><ListBucketResult/></html>", PageError::NoListing),
        ("<a><b></a>", PageError::NoListing),
        ("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", PageError::NoNextPage),
        (
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken/></ListBucketResult>",
            PageError::NoNextPage,
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(files_of(text.as_bytes()), Err(expected), "{text}");
    }
}

#[test]
fn a_page_may_have_no_objects() {
    for text in [
        "<ListBucketResult/>",
        "<s:ListBucketResult xmlns:s='x'></s:ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated>\
         <NextContinuationToken>x</NextContinuationToken></ListBucketResult>",
    ] {
        let whole = ListingPage { xml: text.as_bytes().to_vec(), left_out: Vec::new() };
        assert_eq!(files_of(text.as_bytes()), Ok(whole), "{text}");
    }
}
