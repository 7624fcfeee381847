/// The minimum number of hexadecimal digits of a digest: that of MD5.
const MIN_DIGEST_DIGITS: usize = 32;

/// Whether a revision identifies a content, so that two files with the same revision have the same content.
///
/// This is true for a hash, a git blob id, and an ETag that is a digest. It is false for a time, because all files of a
/// release may have the same one, for an ETag derived from a time and a size, and for a weak ETag.
pub fn identifies_content(revision: &str) -> bool {
    match revision.split_once(':') {
        None => is_digest(revision),
        Some(("sha256", hash)) => is_digest(hash),
        Some(("etag", tag)) => is_digest(digest_in(tag)),
        Some(_) => false,
    }
}

/// The part of an ETag that may be a digest. The revision of an S3 object has its size after the quotes. The ETag of a
/// multipart upload has the number of parts after the digest.
fn digest_in(tag: &str) -> &str {
    let tag = without_number(tag, ';').trim_matches('"');
    without_number(tag, '-')
}

fn without_number(text: &str, separator: char) -> &str {
    match text.rsplit_once(separator) {
        Some((before, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => before,
        _ => text,
    }
}

fn is_digest(text: &str) -> bool {
    text.len() >= MIN_DIGEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_identifies_a_content_and_a_time_does_not() {
        let cases = [
            ("sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", true),
            ("5f2c1a1f0d5b6a3d2b9d3c8e7a6f5e4d3c2b1a09", true),
            ("etag:\"d41d8cd98f00b204e9800998ecf8427e\"", true),
            ("etag:\"d41d8cd98f00b204e9800998ecf8427e\";0", true),
            ("etag:\"D41D8CD98F00B204E9800998ECF8427E-12\";70000000", true),
            ("etag:d41d8cd98f00b204e9800998ecf8427e;0", true),
            ("modified:Sun, 06 Nov 1994 08:49:37 GMT", false),
            ("modified:1746093600;7", false),
            // The ETags of nginx and Apache are derived from a time and a size.
            ("etag:\"68134a20-1f4\"", false),
            ("etag:\"1f4-6341f3b1e9a40\"", false),
            ("etag:W/\"d41d8cd98f00b204e9800998ecf8427e\"", false),
            ("etag:\"v1\"", false),
            ("etag:\"\"", false),
            ("sha256:", false),
            ("", false),
        ];
        for (revision, expected) in cases {
            assert_eq!(identifies_content(revision), expected, "{revision}");
        }
    }
}
