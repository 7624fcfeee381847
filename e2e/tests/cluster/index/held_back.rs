//! A source that is suddenly empty.

use ragengine_e2e::changes::Changes;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::{Index, condition, paths, set, source};
use ragengine_e2e::namespace::in_namespace;
use ragengine_e2e::operator::Operator;
use ragengine_e2e::source::Claim;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use super::TEXTS;

#[tokio::test]
async fn the_documents_of_a_vanished_source_stay_until_their_deletion_is_confirmed() {
    in_namespace("index-held-back", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let claim = Claim::start(namespace).await?;
        claim.change(&Changes::texts(TEXTS)).await?;
        let engine = Engine::start(namespace, "docs", &json!({})).await?;
        let volume = json!({"name": "volume", "persistentVolumeClaim": {"name": Claim::NAME}});
        let index = Index::start(namespace, "files", &super::of_source("docs", &volume)).await?;
        let all = set(TEXTS.map(|(path, _)| path));
        let revision = index.object().await?.status.unwrap().revision;

        // As if a volume were not mounted. New files are indexed nevertheless.
        let gone = TEXTS.map(|(path, _)| path);
        claim.change(&Changes::texts([("new.md", "It is new.")]).and_remove(&gone)).await?;
        index.sync().await?;
        let message = index.until_not_ready(Reason::HeldBack).await?;
        assert!(message.contains("ragengine.dev/confirm-delete") && message.contains("files"), "{message}");
        let held = paths(&engine, "files", "files.volume").await?;
        assert!(held.is_superset(&all) && held.contains("new.md"), "{held:?}");
        let object = index.object().await?;
        assert_eq!(source(&object, "volume").unwrap().held_back, TEXTS.len() as u64);
        assert_eq!(object.status.unwrap().revision, revision, "the revision changes only after the deletions");

        index.confirm_delete().await?;
        index.until_synced().await?;
        assert_eq!(paths(&engine, "files", "files.volume").await?, set(["new.md"]));
        // The confirmation is valid only for that revision.
        claim.change(&Changes::default().and_remove(&["new.md"])).await?;
        index.sync().await?;
        index.until_not_ready(Reason::HeldBack).await?;
        assert_eq!(paths(&engine, "files", "files.volume").await?, set(["new.md"]));

        // Files that come back need no confirmation.
        claim.change(&Changes::texts([("new.md", "It is new.")])).await?;
        let healed = index.sync().await?;
        assert_eq!(condition(&healed, ConditionType::Ready).unwrap().reason, Reason::Synced, "{healed:?}");
        Ok(())
    })
    .await;
}
