use hyper::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "files";

/// What a web server was asked, and answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The header of that name.
    pub authorization: Option<String>,
    /// The header of that name.
    pub if_none_match: Option<String>,
    /// The header of that name.
    pub if_modified_since: Option<String>,
    /// What was answered.
    pub status: u16,
}

/// A web server, named `files`.
pub struct Files(Source);

impl Files {
    /// Starts one, which wants this bearer token if there is one.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or it does not run in time.
    pub async fn start(namespace: &Namespace, token: Option<&str>) -> Result<Self, Error> {
        let mut arguments = vec!["files", WORK_FOLDER];
        arguments.extend(token.iter().flat_map(|token| ["--token", token]));
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The address of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.0.authority())
    }

    /// The path that a file has among the documents: with the host before it.
    pub fn document(&self, path: &str) -> String {
        format!("{}/{path}", self.0.authority())
    }

    /// A sitemap of these files, to be put among them.
    pub fn sitemap(&self, paths: &[&str]) -> String {
        let entries = paths.iter().map(|path| format!("<url><loc>{}</loc></url>", self.url(path)));
        let entries = entries.collect::<String>();
        format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</urlset>")
    }

    /// Changes its files.
    ///
    /// # Errors
    ///
    /// When it does not take that.
    pub async fn change(&self, changes: &Changes) -> Result<(), Error> {
        self.0.change(changes).await.map(drop)
    }

    /// From now on these paths, and no others, lead elsewhere.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn redirect(&self, redirects: &[(&str, &str)]) -> Result<(), Error> {
        let redirects: serde_json::Map<String, Value> =
            redirects.iter().map(|(path, target)| ((*path).to_owned(), json!(target))).collect();
        self.0.tell("/redirects", &Value::Object(redirects)).await
    }

    /// From now on the replies for these paths, and no others, do not come.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn hold(&self, paths: &[&str]) -> Result<(), Error> {
        self.0.tell("/held", &json!(paths)).await
    }

    /// What it was asked since it was last told to forget that, and has answered.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn asked(&self) -> Result<Vec<Asked>, Error> {
        let asked = self.0.control(Method::GET, "/asked", None).await?.ok()?;
        serde_json::from_value(asked).map_err(|error| Error::Unexpected(format!("what the files were asked: {error}")))
    }

    /// Forgets what it was asked.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn forget(&self) -> Result<(), Error> {
        self.0.control(Method::DELETE, "/asked", None).await.map(drop)
    }
}
