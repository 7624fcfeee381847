use hyper::Method;
use serde_json::{Value, json};

use super::{REPOSITORY, Source, Storage, WORK_FOLDER};
use crate::Error;
use crate::changes::Changes;
use crate::namespace::Namespace;

const NAME: &str = "git";

/// A git server with one repository, named `git`: over https, with a certificate of an authority of its own, for one user.
pub struct Git(Source);

impl Git {
    /// The user who may read.
    pub const USERNAME: &str = "reader";

    /// Starts one.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or it does not run in time.
    pub async fn start(namespace: &Namespace, password: &str) -> Result<Self, Error> {
        let host = namespace.host(NAME);
        let arguments = ["git", WORK_FOLDER, "--host", &host, "--username", Self::USERNAME, "--password", password];
        Source::start(namespace, NAME, &arguments, Storage::Ephemeral).await.map(Self)
    }

    /// The address of the repository.
    pub fn url(&self) -> String {
        format!("https://{}/{REPOSITORY}", self.0.authority())
    }

    /// Commits changes; the commit's id.
    ///
    /// # Errors
    ///
    /// When it does not take that.
    pub async fn commit(&self, changes: &Changes) -> Result<String, Error> {
        let done = self.0.change(changes).await?;
        done["commit"].as_str().map(str::to_owned).ok_or_else(|| Error::Unexpected(format!("no commit: {done}")))
    }

    /// The certificate of its authority, as PEM.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn authority(&self) -> Result<String, Error> {
        Ok(self.0.control(Method::GET, "/ca.crt", None).await?.text)
    }

    /// What a Secret for it has.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn credentials(&self, password: &str) -> Result<Value, Error> {
        Ok(json!({"username": Self::USERNAME, "password": password, "ca.crt": self.authority().await?}))
    }
}
