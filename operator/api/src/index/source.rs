use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rules::{OBJECT_NAME, http_url};

/// One place that documents come from.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "[has(self.inline), has(self.configMap), has(self.persistentVolumeClaim), has(self.http), has(self.git), \
         has(self.s3)].exists_one(is, is)"
    )
    .message(
        "sources[] needs exactly one of inline, configMap, persistentVolumeClaim, http, git and s3: write each \
         place as a separate source"
    )
)]
pub struct IndexSource {
    /// Name of the source, unique within the Index. Renaming a source deletes its documents and adds them again.
    #[schemars(length(min = 1, max = 40), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Documents written directly in this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<InlineSource>,
    /// Values of a ConfigMap. Each key becomes the path of a document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// Files of a PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<VolumeSource>,
    /// Web pages and files, by URL or by sitemap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpSource>,
    /// Files of a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// Objects of an S3 bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<ObjectStoreSource>,
    /// Glob patterns of the paths to read, such as `docs/**/*.md`. Default: all files in a supported format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    pub include: Vec<String>,
    /// Glob patterns of the paths to skip. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 512)))]
    pub exclude: Vec<String>,
    /// Metadata added to each document of the source: strings, numbers, booleans and lists of these. Default: none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "any_values")]
    pub metadata: Map<String, Value>,
}

/// The kind of an [`IndexSource`], with its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin<'a> {
    /// Documents in the specification.
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
    /// The kind of the source, or `None` if no kind is set, which the CEL rules reject.
    pub fn origin(&self) -> Option<Origin<'_>> {
        let Self { inline, config_map, persistent_volume_claim, http, git, s3, .. } = self;
        let found = inline.as_ref().map(Origin::Inline).or(config_map.as_ref().map(Origin::ConfigMap));
        let found = found.or(persistent_volume_claim.as_ref().map(Origin::Volume)).or(http.as_ref().map(Origin::Http));
        found.or(git.as_ref().map(Origin::Git)).or(s3.as_ref().map(Origin::S3))
    }

    /// Name of the Secret with the credentials of the source, if one is set.
    pub fn access_secret(&self) -> Option<&str> {
        match self.origin()? {
            Origin::Http(http) => http.access_secret.as_deref(),
            Origin::Git(git) => git.access_secret.as_deref(),
            Origin::S3(s3) => s3.access_secret.as_deref(),
            Origin::Inline(_) | Origin::ConfigMap(_) | Origin::Volume(_) => None,
        }
    }
}

/// Documents written in the specification. The whole Index object must be smaller than 1 MB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InlineSource {
    /// Documents with their paths and texts. The whole Index object must be smaller than 1 MB.
    #[schemars(length(max = 64))]
    pub documents: Vec<InlineFile>,
}

/// A document written in the specification.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineFile {
    /// Path of the document. The file extension selects the format, such as `faq.md` for Markdown.
    #[schemars(length(min = 1, max = 400))]
    #[x_kube(
        validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.]{0,2}(/|$)')").message(
            "sources[].inline.documents[].path must be a path without '.' and '..' that does not begin or end with \
             '/': for example guides/faq.md"
        )
    )]
    pub path: String,
    /// Text of the document.
    #[schemars(length(max = 262_144))]
    pub text: String,
}

/// Values of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// Name of a ConfigMap in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
}

/// Files of a PersistentVolumeClaim. Symbolic links are not followed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSource {
    /// Name of a PersistentVolumeClaim in the same namespace. It is mounted read-only.
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub name: String,
    /// Folder of the volume to read, relative to its root, such as `manuals/2026`. Default: the whole volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(
        validation = Rule::new("!self.startsWith('/') && !self.matches('(^|/)[.]{0,2}(/|$)')").message(
            "sources[].persistentVolumeClaim.path must be a path below the volume's root, without '.' and '..', that \
             does not begin or end with '/': for example manuals/2026"
        )
    )]
    pub path: Option<String>,
}

/// Web pages and files. A page is downloaded again only if its `ETag` or `Last-Modified` header has changed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.sitemap) || (has(self.urls) && self.urls.size() > 0)")
        .message("sources[].http needs urls or a sitemap: for example urls: [https://www.example.com/handbook.html]")
)]
pub struct HttpSource {
    /// URLs of pages and files, such as `https://www.example.com/handbook.html`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    // With more URLs, the API server's cost limit for CEL rejects the rule below.
    #[schemars(length(max = 64), inner(length(min = 1, max = 1024)))]
    #[x_kube(
        validation = Rule::new("self.all(url, isURL(url) && url.matches('^https?://[^/?#@]+([/?#].*)?$'))").message(
            "sources[].http.urls must be http:// or https:// URLs with a host and without a user or password: for \
             example https://www.example.com/handbook.html. Put a password into the Secret of accessSecret."
        )
    )]
    pub urls: Vec<String>,
    /// URL of a sitemap that lists further pages: XML, or plain text with one URL per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].http.sitemap", "https://www.example.com/sitemap.xml"))]
    pub sitemap: Option<String>,
    /// Further origins whose pages the sitemap may list, such as `https://docs.example.com`. Default: only the origin
    /// of the sitemap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 8, max = 256), regex(pattern = r"^https?://[^/?#@ ]+$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_origins: Vec<String>,
    /// Name of a Secret with the key `token`, or the keys `username` and `password`. The optional key `ca.crt` adds a
    /// certificate authority. Default: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

/// Files of a git repository. Submodules and symbolic links are not followed.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitSource {
    /// URL of the repository, with the scheme `https` or `http`.
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].git.url", "https://git.example.com/handbook.git"))]
    pub url: String,
    /// Branch, tag or full commit id. Default: `HEAD` of the repository.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._/+@-]*$"))]
    pub reference: Option<String>,
    /// Name of a Secret with the key `token`, or the keys `username` and `password`. The optional key `ca.crt` adds a
    /// certificate authority. Default: no authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = OBJECT_NAME))]
    pub access_secret: Option<String>,
}

/// Objects of an S3 bucket.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStoreSource {
    /// Name of the bucket.
    #[schemars(length(min = 1, max = 255), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub bucket: String,
    /// URL of the S3-compatible service, such as `https://s3.example.com`. Default: Amazon S3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(validation = http_url("sources[].s3.endpoint", "https://s3.example.com"))]
    pub endpoint: Option<String>,
    /// Region of the bucket. Default: `us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[A-Za-z0-9-]+$"))]
    pub region: Option<String>,
    /// Reads only objects whose keys begin with this prefix. Default: all objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub prefix: Option<String>,
    /// Name of a Secret with the keys `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, and optionally
    /// `AWS_SESSION_TOKEN`. The optional key `ca.crt` adds a certificate authority. Default: requests are not signed.
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
