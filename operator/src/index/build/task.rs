use std::path::{Path, PathBuf};

use ragengine_operator_api::{self as api, IndexSource};
use ragengine_settings::sync::{Folder, Git, Http, IndexOptions, Inline, InlineDocument, Origin, S3, Source, SyncTask};

use super::Synchronisation;
use crate::defaults::Defaults;
use crate::index::observe::ObservedReference;
use crate::names::IndexIdentity;
use crate::sync_job::{CREDENTIALS_FOLDER, SOURCES_FOLDER, task};
use crate::watches::Referred;

/// A host name that never exists (RFC 2606).
const NOWHERE: &str = "nowhere.invalid";

/// The task of a synchronisation.
pub(super) fn task(what: Synchronisation<'_>, defaults: &Defaults) -> SyncTask {
    let Synchronisation { index, validated, engine, observed, start } = what;
    let references = observed.references.as_slice();
    let chunking = index.spec.chunking.clone().unwrap_or_default();
    let nothing = task::deletion(engine, index.index_name(), &IndexIdentity::of(index).name, &start.sync_id, defaults);
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

/// Splits the annotation, which may confirm several deletions.
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

/// The only hosts that a Secret may be sent to. A Secret with an empty list is sent nowhere.
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
