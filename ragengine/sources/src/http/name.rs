use reqwest::Url;

/// The path of a page: host, path and query of its URL. `index.html` is added to a URL that ends with a slash.
pub fn path_of(url: &Url) -> String {
    let mut path = url.host_str().unwrap_or_default().to_owned();
    if let Some(port) = url.port() {
        path.push_str(&format!(":{port}"));
    }
    path.push_str(url.path());
    if path.ends_with('/') {
        path.push_str("index.html");
    }
    if let Some(query) = url.query() {
        path.push_str(&format!("?{query}"));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_page_comes_from_its_url() {
        let cases = [
            ("https://docs.example.com", "docs.example.com/index.html"),
            ("https://docs.example.com/a/", "docs.example.com/a/index.html"),
            ("https://docs.example.com/a", "docs.example.com/a"),
            ("http://docs.example.com:80/a.md", "docs.example.com/a.md"),
            ("http://docs.example.com:8080/a.md", "docs.example.com:8080/a.md"),
            ("https://DOCS.example.com/A%20b.md#part", "docs.example.com/A%20b.md"),
            ("https://docs.example.com/a/../b/?q=1&r=x/y", "docs.example.com/b/index.html?q=1&r=x/y"),
        ];
        for (url, expected) in cases {
            assert_eq!(path_of(&Url::parse(url).unwrap()), expected);
        }
    }
}
