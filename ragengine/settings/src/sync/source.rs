use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where documents come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Its name among the sources of its owner: a DNS label.
    pub name: String,
    /// Patterns of the paths that are taken, such as `docs/**/*.md`. None: all whose format is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Patterns of the paths that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// What is added to the metadata of each of its documents.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// What it is.
    pub origin: Origin,
}

/// The kinds of sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// Documents that stand in the task itself.
    Inline(Inline),
    /// A folder, such as a mounted claim. Symbolic links are not followed.
    Folder(Folder),
    /// The folder of a mounted ConfigMap: its files are the keys.
    ConfigMap(Folder),
    /// Web pages and files.
    Http(Http),
    /// A repository.
    Git(Git),
    /// The objects of a bucket.
    S3(S3),
}

/// Documents that stand in the task itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inline {
    /// The documents.
    pub documents: Vec<InlineDocument>,
}

/// A document that stands in the task itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineDocument {
    /// Its path, whose ending says how it is read: `faq.md`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
}

/// Web pages and files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// Their addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// The address of a sitemap that lists more of them: XML, or one address a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemap: Option<String>,
    /// Origins besides its own that a sitemap may list, such as `https://cdn.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_origins: Vec<String>,
    /// A folder with the files of a Secret: `token`, or `username` and `password`; `ca.crt` for a certificate authority of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The only hosts that the credentials may be sent to, as the Secret's annotation names them: `git.example.com`, `git.example.com:8443`, or
    /// `*.example.com` for all below it. Empty: whichever the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}

/// A repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Git {
    /// Its address over https (or http).
    pub url: String,
    /// A branch, a tag or a whole commit id. Without it, what the repository calls HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// A folder with the files of a Secret: `token`, or `username` and `password`; `ca.crt` for a certificate authority of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The only hosts that the credentials may be sent to, as the Secret's annotation names them: `git.example.com`, `git.example.com:8443`, or
    /// `*.example.com` for all below it. Empty: whichever the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}

/// The objects of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S3 {
    /// Its name.
    pub bucket: String,
    /// The address of the service. Without it, Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The region, `us-east-1` when nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Only objects whose keys begin like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A folder with the files of a Secret: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` where there is one; `ca.crt` for
    /// a certificate authority of one's own. Without it, requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The only hosts that the credentials may be sent to, as the Secret's annotation names them: `git.example.com`, `git.example.com:8443`, or
    /// `*.example.com` for all below it. Empty: whichever the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}
