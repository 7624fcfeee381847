//! The addresses of an OpenAI-compatible endpoint.

use std::sync::Arc;

use reqwest::Url;

/// The addresses of one endpoint, derived from its base address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The address for chats.
    pub chat: Url,
    /// The address of the list of models.
    pub models: Url,
    /// The address where llama.cpp's server reports its properties.
    pub props: Url,
    /// The address where Ollama lists the models that it runs.
    pub running: Url,
    /// The address for messages, without user, password and query.
    pub shown: Arc<str>,
}

impl Addresses {
    /// Derives the addresses from a user's setting. A path that ends in `/chat/completions` is kept, one that ends in
    /// `/v1` is completed, and `/v1/chat/completions` is appended to any other. In a path that ends in `/completions`,
    /// the API of older servers without conversations, that part is replaced with `/chat/completions`.
    ///
    /// # Errors
    ///
    /// A message if it is not an HTTP address.
    pub fn new(url: &str) -> Result<Self, String> {
        // The address is not quoted, because it may contain a password.
        let not_http = || "inferenceService.url is not an address such as http://127.0.0.1:8000/v1".to_owned();
        let parsed = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(not_http)?;
        let path = parsed.path().trim_end_matches('/');
        let completions = path.strip_suffix("/chat/completions").or_else(|| path.strip_suffix("/completions"));
        let base = match completions {
            Some(base) => base.to_owned(),
            None if path.ends_with("/v1") => path.to_owned(),
            None => format!("{path}/v1"),
        };
        let root = base.strip_suffix("/v1").unwrap_or(&base);
        let at = |path: String| {
            let mut url = parsed.clone();
            url.set_path(&path);
            url
        };
        Ok(Self {
            chat: at(format!("{base}/chat/completions")),
            models: at(format!("{base}/models")),
            props: at(format!("{root}/props")),
            running: at(format!("{root}/api/ps")),
            shown: shown(at(format!("{base}/chat/completions"))),
        })
    }
}

fn shown(mut url: Url) -> Arc<str> {
    url.set_query(None);
    match (url.set_username(""), url.set_password(None)) {
        (Ok(()), Ok(())) => url.as_str().into(),
        _ => "the configured address".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::Addresses;

    #[test]
    fn what_is_written_and_what_is_meant() {
        for (written, chat, models) in [
            ("http://h:8000", "http://h:8000/v1/chat/completions", "http://h:8000/v1/models"),
            ("http://h:8000/", "http://h:8000/v1/chat/completions", "http://h:8000/v1/models"),
            ("http://h/v1", "http://h/v1/chat/completions", "http://h/v1/models"),
            ("https://h/api/v1/", "https://h/api/v1/chat/completions", "https://h/api/v1/models"),
            ("http://h/x/chat/completions", "http://h/x/chat/completions", "http://h/x/models"),
            ("http://h/v1/completions", "http://h/v1/chat/completions", "http://h/v1/models"),
            ("http://h/v1/chat/completions?v=1", "http://h/v1/chat/completions?v=1", "http://h/v1/models?v=1"),
        ] {
            let addresses = Addresses::new(written).unwrap();
            assert_eq!((addresses.chat.as_str(), addresses.models.as_str()), (chat, models), "{written}");
        }
        assert_eq!(Addresses::new("http://h/v1").unwrap().props.as_str(), "http://h/props");
    }

    #[test]
    fn what_is_no_address() {
        for written in ["", "h:8000", "ftp://h", "http://"] {
            assert!(Addresses::new(written).is_err(), "{written}");
        }
    }

    #[test]
    fn a_message_shows_no_password() {
        let shown = Addresses::new("http://me:secret@h/v1?key=secret").unwrap().shown;
        assert!(!shown.contains("secret"), "{shown}");
    }
}
