//! Sends requests and reads replies. Replies of untrusted servers are limited.

use reqwest::header::AUTHORIZATION;
use reqwest::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{ClientError, refusal};
use super::{Client, Trust};

/// Maximum length of a reply of an untrusted server, in bytes.
const MAX_GUARDED_BYTES: usize = 256 << 10;
/// Maximum length of a repeated message of an untrusted server, in characters.
const MAX_GUARDED_CHARACTERS: usize = 200;

impl Client {
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        self.request(method, self.url(path), body).await
    }

    pub(super) async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<&impl Serialize>,
    ) -> Result<T, ClientError> {
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        self.read(self.authorized(request)).await
    }

    pub(crate) fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization.clone()),
            None => request,
        }
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, ClientError> {
        let response = request.send().await.map_err(|error| self.transport(&error))?;
        let status = response.status();
        let text = self.text(response).await?;
        if !status.is_success() {
            return Err(self.shortened(refusal(status, &text)));
        }
        serde_json::from_str(&text).map_err(|error| {
            let reason = format!("its reply is not understood: {error}");
            self.shortened(ClientError::Transport { url: self.base.to_string(), reason })
        })
    }

    async fn text(&self, mut response: reqwest::Response) -> Result<String, ClientError> {
        if self.trust == Trust::Full {
            return response.text().await.map_err(|error| self.transport(&error));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(&error))? {
            if bytes.len() + chunk.len() > MAX_GUARDED_BYTES {
                let reason = format!("its reply has more than {} KiB", MAX_GUARDED_BYTES >> 10);
                return Err(ClientError::Transport { url: self.base.to_string(), reason });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Shortens the message of an untrusted server.
    fn shortened(&self, error: ClientError) -> ClientError {
        let short = |words: String| match self.trust {
            Trust::Full => words,
            Trust::Guarded => beginning(&words),
        };
        match error {
            ClientError::Refused { status, message } => ClientError::Refused { status, message: short(message) },
            ClientError::Transport { url, reason } => ClientError::Transport { url, reason: short(reason) },
            other => other,
        }
    }

    /// The URL of a path. Its segments are escaped.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    pub(crate) fn transport(&self, error: &reqwest::Error) -> ClientError {
        ClientError::of_request(self.base.as_str(), error)
    }
}

/// The beginning of an untrusted server's message, on one line.
fn beginning(text: &str) -> String {
    let on_one_line = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    on_one_line.take(MAX_GUARDED_CHARACTERS).collect()
}
