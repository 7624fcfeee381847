use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "files";

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// The path.
    pub path: String,
    /// The header `Authorization`.
    pub authorization: Option<String>,
    /// The header `If-None-Match`.
    pub if_none_match: Option<String>,
    /// The header `If-Modified-Since`.
    pub if_modified_since: Option<String>,
    /// The status of the reply.
    pub status: u16,
}

/// A web server, named `files`.
pub struct Files(Source);

impl Files {
    /// Starts the web server. With a token, requests must have it as their bearer token.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &Namespace, token: Option<&str>) -> Result<Self, Error> {
        let mut arguments = vec!["files", WORK_FOLDER];
        arguments.extend(token.iter().flat_map(|token| ["--token", token]));
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.0.authority())
    }

    /// The path of the document of a file. It begins with the host.
    pub fn document(&self, path: &str) -> String {
        format!("{}/{path}", self.0.authority())
    }

    /// A sitemap of these files. The test puts it among the files.
    pub fn sitemap(&self, paths: &[&str]) -> String {
        let entries = paths.iter().map(|path| format!("<url><loc>{}</loc></url>", self.url(path)));
        let entries = entries.collect::<String>();
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</urlset>")
    }

    /// Changes files.
    ///
    /// # Errors
    ///
    /// When the source refuses the changes.
    pub async fn change(&self, changes: &Changes) -> Result<(), Error> {
        self.0.change(changes).await.map(drop)
    }

    /// Sets the redirects. Earlier redirects are removed.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn redirect(&self, redirects: &[(&str, &str)]) -> Result<(), Error> {
        let redirects: serde_json::Map<String, Value> =
            redirects.iter().map(|(path, target)| ((*path).to_owned(), json!(target))).collect();
        self.0.configure("/redirects", &Value::Object(redirects)).await
    }

    /// Delays the replies for these paths. Other paths are no longer delayed.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn hold(&self, paths: &[&str]) -> Result<(), Error> {
        self.0.configure("/held", &json!(paths)).await
    }

    /// Returns the answered requests since the last [`Self::forget`].
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn asked(&self) -> Result<Vec<RecordedRequest>, Error> {
        let asked = self.0.control(Method::GET, "/asked", None).await?.ok()?;
        serde_json::from_value(asked).map_err(|error| Error::Unexpected(format!("the recorded requests: {error}")))
    }

    /// Deletes the recorded requests.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn forget(&self) -> Result<(), Error> {
        self.0.control(Method::DELETE, "/asked", None).await.map(drop)
    }
}
