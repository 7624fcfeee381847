use hyper::Method;
use serde_json::{Value, json};

use super::{REPOSITORY, Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "git";

/// A git server over https with one repository and one user, named `git`. Its own authority issues its certificate.
pub struct Git(Source);

impl Git {
    /// The user who may read.
    pub const USERNAME: &str = "reader";

    /// Starts the git server.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &Namespace, password: &str) -> Result<Self, Error> {
        let host = namespace.host(NAME);
        let arguments = ["git", WORK_FOLDER, "--host", &host, "--username", Self::USERNAME, "--password", password];
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The URL of the repository.
    pub fn url(&self) -> String {
        format!("https://{}/{REPOSITORY}", self.0.authority())
    }

    /// Commits changes, and returns the commit's id.
    ///
    /// # Errors
    ///
    /// When the source refuses the changes.
    pub async fn commit(&self, changes: &Changes) -> Result<String, Error> {
        let done = self.0.change(changes).await?;
        let commit = done["commit"].as_str().map(str::to_owned);
        commit.ok_or_else(|| Error::Unexpected(format!("the reply has no commit: {done}")))
    }

    /// Reads the certificate of the authority, as PEM.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn authority(&self) -> Result<String, Error> {
        Ok(self.0.control(Method::GET, "/ca.crt", None).await?.text)
    }

    /// The data of the source's Secret.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn credentials(&self, password: &str) -> Result<Value, Error> {
        Ok(json!({"username": Self::USERNAME, "password": password, "ca.crt": self.authority().await?}))
    }
}
