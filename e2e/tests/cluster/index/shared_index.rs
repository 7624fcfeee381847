//! Several Indexes that fill the same index of an engine.

use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, texts};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::documents;
use ragengine_e2e::{Error, wait};
use ragengine_operator_api::{Index as Object, Reason};
use serde_json::json;

use super::inline;

#[tokio::test]
async fn two_indexes_on_one_index_have_their_own_documents_and_no_others() {
    in_namespace("index-together", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let engine = Engine::start(namespace, "docs", &json!({"auth": {"writes": "open"}})).await?;
        // The name of one Index is a prefix of the other's. Sources and files have the same names.
        let spec = |text: &str| {
            let mut spec = inline("docs", "here", &[("a.md", text), ("b.md", "Both have this.")]);
            spec["indexName"] = json!("shared");
            spec
        };
        let one = Index::start(namespace, "team", &spec("One's own.")).await?;
        let other = Index::start(namespace, "team-two", &spec("The other's own.")).await?;
        engine.post("/index", &documents("shared", &[("by-hand", "No source has this.")])).await?.ok()?;
        let held = texts(&engine, "shared").await?;
        let all = ["by-hand", "team-two.here/a.md", "team-two.here/b.md", "team.here/a.md", "team.here/b.md"];
        assert_eq!(held.keys().collect::<Vec<_>>(), all);
        assert_eq!((&*held[all[1]], &*held[all[3]]), ("The other's own.", "One's own."));

        // An Index with other settings for the same index is refused.
        let mut unlike = spec("Never.");
        unlike["chunking"] = json!({"maxTokens": 64});
        let third = Index::apply(namespace, "unlike", &unlike).await?;
        let message = third.until_not_ready(Reason::SettingsConflict).await?;
        assert!(message.contains("shared") && message.contains("indexName"), "{message}");
        namespace.delete::<Object>("unlike").await?;
        namespace.until_gone::<Object>("unlike").await?;

        // A deleted Index deletes only its own documents. Documents that were written by hand stay.
        one.set(&{
            let mut less = inline("docs", "here", &[("b.md", "Both have this.")]);
            less["indexName"] = json!("shared");
            less
        })
        .await?;
        one.sync().await?;
        assert_eq!(texts(&engine, "shared").await?.into_keys().collect::<Vec<_>>(), [all[0], all[1], all[2], all[4]]);
        namespace.delete::<Object>("team").await?;
        namespace.until_gone::<Object>("team").await?;
        until_documents(&engine, &[all[0], all[1], all[2]]).await?;
        namespace.delete::<Object>(&other.name).await?;
        namespace.until_gone::<Object>(&other.name).await?;
        until_documents(&engine, &[all[0]]).await
    })
    .await;
}

async fn until_documents(engine: &Engine<'_>, wanted: &[&str]) -> Result<(), Error> {
    wait::until("the others are deleted", async || {
        let found = texts(engine, "shared").await.map_err(|error| error.to_string())?;
        let found: Vec<String> = found.into_keys().collect();
        if found == wanted { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await
}
