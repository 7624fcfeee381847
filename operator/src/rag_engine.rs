//! The reconcile of a RAGEngine: validate → observe → prepare (builds the objects) → apply → status.
//! Validation runs first because it decides which objects to observe. A step may call earlier steps, never later ones.

pub mod apply;
pub mod backups;
pub mod build;
pub mod hold;
pub mod missed_backups;
pub mod monitoring;
pub mod next;
pub mod nodes;
pub mod observe;
pub mod pod;
pub mod pod_template;
pub mod prepare;
pub mod references;
pub mod release;
pub mod settings;
pub mod status;
pub mod status_update;
pub mod validate;

use hold::Hold;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use prepare::EngineInput;
use ragengine_operator_api::RagEngine;

use crate::context::Context;
use crate::deleted_index::{self, DeletionProgress};
use crate::error::Error;
use crate::names::Identity;
use crate::report::report;
use crate::times::whole_seconds;

/// Brings the objects of an engine to the state that its specification asks for, and writes the status.
///
/// # Errors
///
/// The step that failed. The controller runs the reconcile again.
pub async fn reconcile(engine: &RagEngine, context: &Context) -> Result<Action, Error> {
    if engine.metadata.deletion_timestamp.is_some() {
        // Kubernetes garbage collection deletes the objects that the engine owns.
        return release::release(engine, context).await;
    }
    let identity = Identity::of(engine);
    let validated = validate::validate(engine, &context.defaults);
    context.referrers.set(identity.owner(), observe::referred(engine, &identity, validated.as_ref().ok()));
    let observed = observe::observe(context, engine, &validated).await?;

    let before = context.statuses.last(&identity.uid, engine.status.as_ref());
    let input = EngineInput { engine, validated: validated.as_ref(), before: &before };
    let prepared = prepare::prepare(input, observed, &context.defaults)?;

    let attempted = apply::apply(context, engine, prepared).await;
    context.engines.ask(&identity, attempted.observed().target());
    // A failed deletion must not prevent the status from being written.
    let deletion = match attempted.hold() {
        Some(Hold::Paused) => DeletionProgress::default(),
        Some(Hold::Queued { .. }) | None => {
            deleted_index::delete_next(context, engine, attempted.observed().loaded_status()).await
        }
    };
    let applied = attempted.complete()?;

    let now = Time(whole_seconds(Timestamp::now()));
    let update = status_update::status_update(input, &applied, deletion.failure.as_ref(), &context.defaults, &now);
    if update.is_done() {
        context.defaults.rollouts.end(&identity.uid);
    }
    report(context, engine, &before, update).await?;
    next::next(engine, applied, deletion, (context.clock)())
}
