//! Sending a request, and reading the reply as far as its server is trusted.

use reqwest::header::AUTHORIZATION;
use reqwest::{Method, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{ClientError, innermost, refusal};
use super::{Client, Trust};

/// The most that is read of a reply of a server that is not trusted, in bytes.
const MAX_GUARDED_BYTES: usize = 256 << 10;
/// The most that is repeated of such a server's words, in characters.
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
            return Err(self.repeated(refusal(status, &text)));
        }
        serde_json::from_str(&text).map_err(|error| {
            let reason = format!("its reply is not understood: {error}");
            self.repeated(ClientError::Transport { url: self.base.to_string(), reason })
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

    /// The server's words, as far as they are repeated.
    fn repeated(&self, error: ClientError) -> ClientError {
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

    /// The address of a path, whose parts are escaped.
    pub(crate) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    pub(crate) fn transport(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base.to_string();
        match (error.is_timeout(), error.is_connect()) {
            (true, _) => ClientError::Transport { url, reason: "it took too long".to_owned() },
            (_, true) => ClientError::Unreachable { url, reason: innermost(error) },
            _ => ClientError::Transport { url, reason: innermost(error) },
        }
    }
}

/// As much of a text as is repeated of a server that is not trusted, on one line.
fn beginning(text: &str) -> String {
    let on_one_line = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    on_one_line.take(MAX_GUARDED_CHARACTERS).collect()
}
