//! The reconcile of an Index: validate → observe → settle → plan → prepare (builds Job) → apply → status.
//! A step may call earlier steps, never later ones.

pub mod apply;
pub mod build;
pub mod desired_revision;
pub mod next;
pub mod observe;
pub mod plan;
pub mod pod;
pub mod prepare;
pub mod schedule;
pub mod settle;
pub mod status;
pub mod status_update;
pub mod validate;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::controller::Action;
use plan::PlanInput;
use ragengine_operator_api::Index;

use crate::context::Context;
use crate::error::Error;
use crate::names::IndexIdentity;
use crate::report::report;
use crate::times::whole_seconds;

/// Takes the next step towards an index that has the content of its sources, and writes the status.
///
/// # Errors
///
/// The step that failed. The controller runs the reconcile again.
pub async fn reconcile(index: &Index, context: &Context) -> Result<Action, Error> {
    let identity = IndexIdentity::of(index);
    let now = (context.clock)();
    let time = Time(whole_seconds(now));
    let validated = validate::validate(index, &context.defaults.allowed_ranges, now);
    let engine = observe::engine_of(context, index);
    context.referrers.set(identity.owner(), observe::referred(index, engine.as_deref()));
    let observed = observe::observe(context, index).await;

    let before = context.index_statuses.last(&identity.uid, index.status.as_ref());
    let settled = settle::settle(index, &observed, &before, &time);
    let new_result = settle::new_result(&before, &settled);
    context.records.ask(&identity, observe::question(index, &observed, &settled));

    let input = PlanInput { index, validated: validated.as_ref(), observed: &observed, status: &settled, now };
    let prepared = prepare::prepare(input, plan::next(input, new_result), &context.defaults)?;
    let applied = apply::apply(context, index, prepared).await?;

    if index.metadata.deletion_timestamp.is_none() {
        report(context, index, &before, status_update::status_update(input, &applied, &time)).await?;
    }
    if let Some(result) = new_result {
        context.metrics.sync_ended(result);
    }
    next::next(&observed, applied, now)
}
