use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use ragengine_operator_api::{self as api, Index, IndexSource, RagEngine, WRITE_TOKEN, Writes};
use ragengine_settings::SecretReference;
use ragengine_settings::sync::{Folder, Git, Http, IndexOptions, Inline, InlineDocument, Origin, S3, Source, SyncTask};

use super::BuildError;
use crate::index::observe::{Observed, ObservedReference};
use crate::index::plan::Start;
use crate::index::validate::Validated;
use crate::names::{Identity, IndexIdentity};
use crate::rag_engine::validate::Defaults;
use crate::watches::Referred;

/// Where the task is mounted.
pub const TASK_FOLDER: &str = "/etc/ragengine/task";
/// Its key in the ConfigMap, and its name there.
pub const TASK_FILE: &str = "task.yaml";
/// Where the write token is mounted.
pub(super) const TOKEN_FOLDER: &str = "/etc/ragengine/write";
/// Where the Secret of each source is mounted.
pub const CREDENTIALS_FOLDER: &str = "/etc/ragengine/credentials";
/// Where the ConfigMap or volume of each source is mounted.
pub const SOURCES_FOLDER: &str = "/etc/ragengine/sources";

/// A name that no host has (RFC 2606).
const NOWHERE: &str = "nowhere.invalid";

/// The task as a file. Another synchronisation has another, so this one never changes.
pub(super) fn config_map(metadata: ObjectMeta, task: &SyncTask) -> Result<ConfigMap, BuildError> {
    Ok(ConfigMap {
        metadata,
        data: Some(BTreeMap::from([(TASK_FILE.to_owned(), serde_saphyr::to_string(task)?)])),
        immutable: Some(true),
        ..ConfigMap::default()
    })
}

/// What the synchronisation is to do.
pub(super) fn synchronisation(
    index: &Index,
    validated: Option<&Validated>,
    engine: &RagEngine,
    observed: &Observed,
    start: &Start,
    defaults: &Defaults,
) -> SyncTask {
    let references = observed.references.as_slice();
    let chunking = index.spec.chunking.clone().unwrap_or_default();
    let nothing = deletion(engine, index.index_name(), &IndexIdentity::of(index).name, &start.sync_id, defaults);
    SyncTask {
        settings: IndexOptions {
            max_tokens: chunking.max_tokens,
            overlap_tokens: chunking.overlap_tokens,
            vector_index: validated.and_then(|validated| validated.vector_index),
        },
        confirmations: start.confirm_delete.iter().flat_map(|words| confirmations(words)).collect(),
        allowed_ranges: validated.map_or_else(Vec::new, |validated| validated.allowed_ranges.clone()),
        sources: index.spec.sources.iter().filter_map(|source| self::source(source, references)).collect(),
        ..nothing
    }
}

/// An index has nothing of an owner any more: a task without sources.
pub(super) fn deletion(engine: &RagEngine, index: &str, owner: &str, sync_id: &str, defaults: &Defaults) -> SyncTask {
    let Identity { namespace, name, .. } = Identity::of(engine);
    let has_token = engine.spec.auth.writes == Writes::Token;
    SyncTask {
        server: format!("http://{name}.{namespace}.svc.{}", defaults.cluster_domain),
        write_token: has_token.then(|| SecretReference::File(Path::new(TOKEN_FOLDER).join(WRITE_TOKEN))),
        index: index.to_owned(),
        owner: owner.to_owned(),
        sync_id: sync_id.to_owned(),
        settings: IndexOptions::default(),
        confirmations: Vec::new(),
        allowed_ranges: Vec::new(),
        sources: Vec::new(),
    }
}

/// The words of the annotation, which may confirm several deletions.
fn confirmations(words: &str) -> Vec<String> {
    words.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn source(source: &IndexSource, references: &[ObservedReference]) -> Option<Source> {
    Some(Source {
        name: source.name.clone(),
        include: source.include.clone(),
        exclude: source.exclude.clone(),
        metadata: source.metadata.clone(),
        origin: origin(source, references)?,
    })
}

fn origin(source: &IndexSource, references: &[ObservedReference]) -> Option<Origin> {
    let hosts = source.access_secret().map_or_else(Vec::new, |secret| hosts_of(secret, references));
    let credentials = source.access_secret().map(|_| Path::new(CREDENTIALS_FOLDER).join(&source.name));
    let mounted = Path::new(SOURCES_FOLDER).join(&source.name);
    Some(match source.origin()? {
        api::Origin::Inline(inline) => {
            Origin::Inline(Inline { documents: inline.documents.iter().map(document).collect() })
        }
        api::Origin::ConfigMap(_) => Origin::ConfigMap(Folder { path: mounted }),
        api::Origin::Volume(volume) => Origin::Folder(Folder { path: below(mounted, volume.path.as_deref()) }),
        api::Origin::Http(http) => Origin::Http(Http {
            urls: http.urls.clone(),
            sitemap: http.sitemap.clone(),
            allowed_origins: http.allowed_origins.clone(),
            credentials,
            credential_hosts: hosts.clone(),
        }),
        api::Origin::Git(git) => Origin::Git(Git {
            url: git.url.clone(),
            reference: git.reference.clone(),
            credentials,
            credential_hosts: hosts.clone(),
        }),
        api::Origin::S3(s3) => Origin::S3(S3 {
            bucket: s3.bucket.clone(),
            endpoint: s3.endpoint.clone(),
            region: s3.region.clone(),
            prefix: s3.prefix.clone(),
            credentials,
            credential_hosts: hosts.clone(),
        }),
    })
}

/// The only hosts that a Secret may be sent to. One that names none at all goes nowhere.
fn hosts_of(secret: &str, references: &[ObservedReference]) -> Vec<String> {
    let is_it = |reference: &&ObservedReference| reference.kind == Referred::Secret && reference.name == secret;
    match references.iter().find(is_it).and_then(|reference| reference.hosts.clone()) {
        Some(hosts) if hosts.is_empty() => vec![NOWHERE.to_owned()],
        hosts => hosts.unwrap_or_default(),
    }
}

fn document(file: &api::InlineFile) -> InlineDocument {
    InlineDocument { path: file.path.clone(), text: file.text.clone() }
}

fn below(folder: PathBuf, path: Option<&str>) -> PathBuf {
    path.map_or_else(|| folder.clone(), |path| folder.join(path))
}
