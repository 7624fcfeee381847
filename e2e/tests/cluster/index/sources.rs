//! Sources of every kind, with files that are added, changed, removed and renamed.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{self, Index, embedded_texts, engine_metrics};
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::{Bucket, Claim, Files, Git};
use ragengine_e2e::{Error, wait};
use serde_json::{Value, json};

use super::{TEXTS, secret};

const NAME: &str = "handbook";
const PASSWORD: &str = "the-password-of-all-sources";
const SITEMAP: &str = "sitemap.xml";
/// Files that the patterns exclude.
const LEFT_OUT: [(&str, &str); 2] = [("draft.md", "A draft."), ("notes.log", "A log.")];

#[tokio::test]
async fn an_index_holds_exactly_what_sources_of_every_kind_hold() {
    in_namespace("index-sources", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let mut places = Places::start(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        places.change(&Changes::texts(TEXTS.into_iter().chain(LEFT_OUT))).await?;
        let index = Index::apply(namespace, NAME, &places.specification()).await?;
        index.until_synced().await?;
        places.assert_held(&engine).await?;

        places.change(&Changes::texts([("pluto.md", "Pluto is small.")])).await?;
        places.follow(&index, &engine).await?;
        places.change(&Changes::texts([("mars.md", "Mars is red because it is rusty.")])).await?;
        places.follow(&index, &engine).await?;
        places.change(&Changes::default().and_remove(&["sun.md"])).await?;
        places.follow(&index, &engine).await?;
        // A renamed file is not embedded again.
        let before = embedded_texts(&engine_metrics(&engine).await?);
        places.change(&Changes::texts([("luna.md", TEXTS[0].1)]).and_remove(&["moon.md"])).await?;
        places.follow(&index, &engine).await?;
        assert_eq!(embedded_texts(&engine_metrics(&engine).await?), before);
        // Unchanged files are not downloaded again.
        places.files.forget().await?;
        index.sync().await?;
        for asked in places.files.asked().await?.iter().filter(|asked| asked.path != format!("/{SITEMAP}")) {
            assert!(asked.status == 304 && asked.if_none_match.is_some(), "{asked:?}");
        }
        // If a source is removed from the specification, exactly its documents are deleted.
        places.is_inline_named = false;
        index.set(&places.specification()).await?;
        places.until_held(&engine).await
    })
    .await;
}

/// A source of each kind, all with the same files.
struct Places<'a> {
    namespace: &'a Namespace,
    files: Files,
    git: Git,
    bucket: Bucket,
    claim: Claim,
    texts: BTreeMap<String, String>,
    is_inline_named: bool,
}

impl<'a> Places<'a> {
    async fn start(namespace: &'a Namespace) -> Result<Self, Error> {
        let (files, git, bucket, claim) = tokio::try_join!(
            Files::start(namespace, Some(PASSWORD)),
            Git::start(namespace, PASSWORD),
            Bucket::start(namespace, PASSWORD),
            Claim::start(namespace),
        )?;
        secret(namespace, "files", &json!({"token": PASSWORD})).await?;
        secret(namespace, "git", &git.credentials(PASSWORD).await?).await?;
        secret(namespace, "s3", &Bucket::credentials(PASSWORD)).await?;
        Ok(Self { namespace, files, git, bucket, claim, texts: BTreeMap::new(), is_inline_named: true })
    }

    /// Makes the same changes in all sources.
    async fn change(&mut self, changes: &Changes) -> Result<(), Error> {
        for (path, content) in &changes.put {
            let ragengine_e2e::changes::Content::Text(text) = content else { panic!("{path} is not a text") };
            self.texts.insert(path.clone(), text.clone());
        }
        changes.remove.iter().for_each(|path| drop(self.texts.remove(path)));
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "faq"}, "data": self.texts});
        self.namespace.apply::<ConfigMap>("faq", &map).await?;
        self.git.commit(changes).await?;
        self.bucket.change(changes).await?;
        self.claim.change(changes).await?;
        let paths: Vec<&str> = self.texts.keys().map(String::as_str).collect();
        let sitemap = Changes::texts([(SITEMAP, self.files.sitemap(&paths))]);
        self.files.change(changes).await?;
        self.files.change(&sitemap).await
    }

    fn specification(&self) -> Value {
        let inline: Vec<Value> = self.texts.iter().map(|(path, text)| json!({"path": path, "text": text})).collect();
        let origins = [
            ("here", "inline", json!({"documents": inline})),
            ("map", "configMap", json!({"name": "faq"})),
            ("volume", "persistentVolumeClaim", json!({"name": Claim::NAME})),
            ("site", "http", json!({"sitemap": self.files.url(SITEMAP), "accessSecret": "files"})),
            ("repository", "git", json!({"url": self.git.url(), "accessSecret": "git"})),
            ("bucket", "s3", self.bucket.specification("s3")),
        ];
        let sources = origins.into_iter().filter(|(name, _, _)| self.is_inline_named || *name != "here");
        let sources: Vec<Value> = sources
            .map(|(name, kind, origin)| {
                let metadata = json!({"kind": kind});
                let (include, exclude) = (["**/*.md"], ["**/draft.md"]);
                json!({"name": name, kind: origin, "include": include, "exclude": exclude, "metadata": metadata})
            })
            .collect();
        json!({"engineRef": {"name": "docs"}, "sources": sources})
    }

    /// The documents that the engine must have, and no others.
    fn wanted(&self) -> BTreeMap<String, String> {
        let is_taken = |path: &str| path.ends_with(".md") && path != "draft.md";
        let texts = self.texts.iter().filter(|(path, _)| is_taken(path));
        let names = ["here", "map", "volume", "repository", "bucket"];
        let names = names.into_iter().filter(|name| self.is_inline_named || *name != "here");
        let named = names.map(|name| (name, None)).chain([("site", Some(self.files.document("")))]);
        let named: Vec<(&str, Option<String>)> = named.collect();
        let ids = |path: &str| -> Vec<String> {
            let id = |(name, host): &(&str, Option<String>)| {
                format!("{NAME}.{name}/{}{path}", host.as_deref().unwrap_or_default())
            };
            named.iter().map(id).collect()
        };
        texts.flat_map(|(path, text)| ids(path).into_iter().map(|id| (id, text.clone()))).collect()
    }

    async fn assert_held(&self, engine: &Engine<'_>) -> Result<(), Error> {
        assert_eq!(index::texts(engine, NAME).await?, self.wanted());
        Ok(())
    }

    async fn until_held(&self, engine: &Engine<'_>) -> Result<(), Error> {
        let wanted = self.wanted();
        wait::until("the engine holds what the sources hold", async || {
            match index::texts(engine, NAME).await.map_err(|error| error.to_string())? {
                texts if texts == wanted => Ok(()),
                texts => Err(format!("{texts:?}")),
            }
        })
        .await
    }

    /// Waits until the sources are synchronised. Changes of the specification and of the ConfigMap are noticed. The
    /// other sources need a request.
    async fn follow(&self, index: &Index<'_>, engine: &Engine<'_>) -> Result<(), Error> {
        index.set(&self.specification()).await?;
        let synced = index.sync().await?;
        self.assert_held(engine).await?;
        let status = synced.status.unwrap();
        assert_eq!(status.documents, Some(self.wanted().len() as u64), "{status:?}");
        assert!(status.sources.iter().all(|source| source.error_count == 0 && source.revision.is_some()), "{status:?}");
        Ok(())
    }
}
