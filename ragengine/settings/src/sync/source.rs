use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A source of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// The name of the source, unique for its owner, without `.`, `/` and `#`.
    pub name: String,
    /// Patterns of the paths to read, such as `docs/**/*.md`. Empty: every file in a known format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Patterns of the paths to skip.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Metadata added to each document of the source.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The location of the documents.
    pub origin: Origin,
}

/// The location of a source's documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// Documents in the task itself.
    Inline(Inline),
    /// A folder, such as a mounted volume. Symbolic links are not followed.
    Folder(Folder),
    /// The folder of a mounted ConfigMap, with one file for each key.
    ConfigMap(Folder),
    /// Web pages and files, downloaded over HTTP.
    Http(Http),
    /// A Git repository.
    Git(Git),
    /// The objects of an S3 bucket.
    S3(S3),
}

/// Documents in the task itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inline {
    /// The documents.
    pub documents: Vec<InlineDocument>,
}

/// A document in the task itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineDocument {
    /// The path of the document, such as `faq.md`. Its extension determines the format.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Folder {
    /// The path of the folder.
    pub path: PathBuf,
}

/// Web pages and files, downloaded over HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Http {
    /// The addresses of pages and files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// The address of a sitemap that lists more pages: XML, or one address per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemap: Option<String>,
    /// Additional origins of pages in the sitemap, such as `https://cdn.example.com`. The sitemap's own origin is
    /// always allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_origins: Vec<String>,
    /// A folder with the files of a Secret: `token`, or `username` and `password`; `ca.crt` for a private certificate
    /// authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The hosts that the credentials may be sent to, from the Secret's annotation: `git.example.com`,
    /// `git.example.com:8443`, or `*.example.com` for all subdomains. Empty: any host that the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}

/// A Git repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Git {
    /// The address of the repository, with `https` or `http`.
    pub url: String,
    /// A branch, a tag or a full commit id. Default: the repository's HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// A folder with the files of a Secret: `token`, or `username` and `password`; `ca.crt` for a private certificate
    /// authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The hosts that the credentials may be sent to, from the Secret's annotation: `git.example.com`,
    /// `git.example.com:8443`, or `*.example.com` for all subdomains. Empty: any host that the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}

/// The objects of an S3 bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S3 {
    /// Its name.
    pub bucket: String,
    /// The address of the S3 service. Default: Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The region. Default: `us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Only objects whose keys begin with this prefix are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A folder with the files of a Secret: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, optionally
    /// `AWS_SESSION_TOKEN`; `ca.crt` for a private certificate authority. Not set: requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// The hosts that the credentials may be sent to, from the Secret's annotation: `git.example.com`,
    /// `git.example.com:8443`, or `*.example.com` for all subdomains. Empty: any host that the source names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credential_hosts: Vec<String>,
}
