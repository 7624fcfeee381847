use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rules::{OBJECT_NAME, http_url};

/// One place where documents come from.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.inline), has(self.configMap), has(self.persistentVolumeClaim), has(self.http), has(self.git), has(self.s3)].exists_one(is, is)")
    .message("sources[] needs exactly one of inline, configMap, persistentVolumeClaim, http, git and s3: write each place as a source of its own"))]
pub struct IndexSource {
    /// Its name among the sources. Another name is another source: its documents are made anew.
    #[schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Documents that stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineSource>,
    /// The values of a ConfigMap; a document's path is its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// The files of a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<VolumeSource>,
    /// Web pages and files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpSource>,
    /// The files of a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// The objects of a bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<ObjectStoreSource>,
    /// Patterns of the paths that are taken, such as `docs/**/*.md`. Empty: all whose format is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    pub include: Vec<String>,
    /// Patterns of the paths that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    pub exclude: Vec<String>,
    /// What is added to the metadata of each of its documents: texts, numbers, true and false, and lists of these.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub metadata: Map<String, Value>,
}

/// Where the documents of a source come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin<'a> {
    /// The specification.
    Inline(&'a InlineSource),
    /// A ConfigMap.
    ConfigMap(&'a ConfigMapSource),
    /// A volume.
    Volume(&'a VolumeSource),
    /// Web pages and files.
    Http(&'a HttpSource),
    /// A git repository.
    Git(&'a GitSource),
    /// A bucket.
    S3(&'a ObjectStoreSource),
}

impl IndexSource {
    /// What it is; none when it says nothing, which the rules refuse.
    pub fn origin(&self) -> Option<Origin<'_>> {
        let Self { inline, config_map, persistent_volume_claim, http, git, s3, .. } = self;
        let found = inline.as_ref().map(Origin::Inline).or(config_map.as_ref().map(Origin::ConfigMap));
        let found = found.or(persistent_volume_claim.as_ref().map(Origin::Volume)).or(http.as_ref().map(Origin::Http));
        found.or(git.as_ref().map(Origin::Git)).or(s3.as_ref().map(Origin::S3))
    }

    /// The Secret that it is entered with, if there is one.
    pub fn access_secret(&self) -> Option<&str> {
        match self.origin()? {
            Origin::Http(http) => http.access_secret.as_deref(),
            Origin::Git(git) => git.access_secret.as_deref(),
            Origin::S3(s3) => s3.access_secret.as_deref(),
            Origin::Inline(_) | Origin::ConfigMap(_) | Origin::Volume(_) => None,
        }
    }
}

/// Documents that stand in the specification. All of them together, with what is around them, must be less than 1 MB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InlineSource {
    /// The documents.
    #[schemars(length(max = 64))]
    pub documents: Vec<InlineFile>,
}

/// A document that stands in the specification.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineFile {
    /// Its path, whose ending says how it is read: `faq.md`.
    #[schemars(length(min = 1, max = 400))]
    #[x_kube(validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.]{0,2}(/|$)')").message("sources[].inline.documents[].path must be a path without '.' and '..' that does not begin or end with '/': for example guides/faq.md"))]
    pub path: String,
    /// Its text.
    #[schemars(length(max = 262_144))]
    pub text: String,
}

/// The values of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// Its name, in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// The files of a volume. Symbolic links are not followed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSource {
    /// The name of a PersistentVolumeClaim of the same namespace. It is mounted read-only.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// The folder of it that is taken. Not set: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.]{0,2}(/|$)')").message("sources[].persistentVolumeClaim.path must be a path below the volume's root, without '.' and '..', that does not begin or end with '/': for example manuals/2026"))]
    pub path: Option<String>,
}

/// Web pages and files. What has not changed since the last time, by its ETag or Last-Modified, is not fetched again.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.sitemap) || (has(self.urls) && self.urls.size() > 0)")
    .message("sources[].http needs urls or a sitemap: for example urls: [https://www.example.com/handbook.html]"))]
pub struct HttpSource {
    /// Their addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    // More, and the API server takes the rule below for too costly.
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(validation = Rule::new("self.all(url, isURL(url) && url.matches('^https?://[^/?#@]+([/?#].*)?$'))").message("sources[].http.urls must be http:// or https:// URLs with a host, and without a user or password: for example https://www.example.com/handbook.html. A password goes into the Secret of accessSecret."))]
    pub urls: Vec<String>,
    /// The address of a sitemap that lists more of them: XML, or one address a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].http.sitemap", "https://www.example.com/sitemap.xml"))]
    pub sitemap: Option<String>,
    /// Origins besides its own that the sitemap may list pages of, such as `https://docs.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 8, max = 256), regex(pattern = r"^https?://[^/?#@ ]+$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_origins: Vec<String>,
    /// The name of a Secret with the key `token`, or `username` and `password`; and `ca.crt` for a certificate authority of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

/// The files of a git repository. Submodules and symbolic links are not followed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// Its address over https (or http).
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].git.url", "https://git.example.com/handbook.git"))]
    pub url: String,
    /// A branch, a tag or a whole commit id. Not set: what the repository calls HEAD.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._/+@-]*$"))]
    pub reference: Option<String>,
    /// The name of a Secret with the key `token`, or `username` and `password`; and `ca.crt` for a certificate authority of one's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

/// The objects of a bucket.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStoreSource {
    /// Its name.
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub bucket: String,
    /// The address of the service. Not set: Amazon's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].s3.endpoint", "https://s3.example.com"))]
    pub endpoint: Option<String>,
    /// The region. Not set: `us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9-]+$"))]
    pub region: Option<String>,
    /// Only objects whose keys begin like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub prefix: Option<String>,
    /// The name of a Secret with the keys `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, and `AWS_SESSION_TOKEN` where there is one; and `ca.crt` for a certificate authority of one's own. Not set: requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

fn any_values(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": {"x-kubernetes-preserve-unknown-fields": true},
    })
}
