//! A reconcile of an Index: validate → observe → settle → plan → build → apply → status. All but the first looks and the writes are pure.

pub mod apply;
pub mod build;
pub mod job;
pub mod observe;
pub mod plan;
pub mod pod;
pub mod schedule;
pub mod settle;
pub mod status;
pub mod validate;
pub mod wish;

use std::sync::Arc;
use std::time::Duration;

use apply::Applied;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use observe::Observed;
use plan::{Plan, Step};
use ragengine_operator_api::{Index, IndexStatus};
use serde_json::json;

use crate::apply::{ApplyError, Refused};
use crate::context::Context;
use crate::error::Error;
use crate::names::{FIELD_MANAGER, IndexIdentity};
use crate::rag_engine::{next_events, whole_seconds};
use crate::records::{About, Question};
use crate::requests::within_limit;
use crate::watches::Referred;

/// What is not watched is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Does the next step towards an index that holds what its sources hold, and says how far it is.
///
/// # Errors
///
/// The step that failed. It is tried again.
pub async fn reconcile(index: &Index, context: &Context) -> Result<Action, Error> {
    let identity = IndexIdentity::of(index);
    let now = (context.clock)();
    let validated = validate::validate(index, &context.defaults.allowed_ranges, now);
    refer(context, &identity, index);
    let observed = observe::observe(context, index).await.map_err(Error::Observe)?;
    let before = context.index_statuses.last(&identity.uid, index.status.as_ref());
    let known = |status| plan::Known { index, validated: validated.as_ref(), observed: &observed, status, now };
    let time = Time(whole_seconds(now));
    let settled = settle::settle(index, &observed, &before, &time);
    let mut plan = plan::plan(known(&settled));
    let has_settled = settled.last_sync != before.last_sync;
    if has_settled {
        // It is written before anything follows from it.
        plan.step = Step::Rest;
    }
    context.records.ask(&identity, question(index, &observed, &settled));
    let (is_there, refused) = outcome(act(context, index, &identity, validated.as_ref().ok(), &observed, &plan).await)?;
    let known = status::Known { index, observed: &observed, plan: &plan, settled: &settled, refused: refused.as_ref() };
    if index.metadata.deletion_timestamp.is_none() {
        report(context, &identity, index, &before, status::status(known, &time)).await?;
    }
    if let Some(last) = settled.last_sync.filter(|_| has_settled) {
        context.metrics.sync_ended(last.result);
    }
    match refused {
        Some(refused) => Err(ApplyError::Refused(refused).into()),
        None => Ok(next_look(&observed, &plan, now, is_there)),
    }
}

/// What wakes this Index when it comes, changes or goes.
fn refer(context: &Context, identity: &IndexIdentity, index: &Index) {
    let engine = index.spec.engine_ref.name.clone();
    let token = (Referred::Secret, format!("{engine}-write"));
    let mut referred = validate::references(&index.spec);
    referred.extend([(Referred::Engine, engine), token]);
    context.referrers.set(identity.owner(), referred);
}

/// What the engine is asked: about the Job whose result is not known.
fn question(index: &Index, observed: &Observed, status: &IndexStatus) -> Option<Question> {
    let found = job::current(&observed.jobs, status)?;
    let has_ended = job::stage(found) != job::Stage::Running;
    let about = About { sync_id: job::sync_id(found).to_owned(), has_ended };
    Some(Question {
        target: observed.target.clone()?,
        index_name: index.index_name().to_owned(),
        sources: index.spec.sources.len(),
        about,
    })
}

/// Does the step.
async fn act(
    context: &Context,
    index: &Index,
    identity: &IndexIdentity,
    validated: Option<&validate::Validated>,
    observed: &Observed,
    plan: &Plan,
) -> Result<Applied, Error> {
    match (&plan.step, observed.engine.as_deref()) {
        (Step::Rest, _) | (Step::Start(_), None) => Ok(Applied::Done),
        (Step::Release, _) => Ok(apply::release(context, index).await.map(|()| Applied::Done)?),
        (Step::Stop(name), _) => Ok(apply::stop(context, identity, observed, name).await.map(|()| Applied::Done)?),
        (Step::Start(start), Some(engine)) => {
            let desired = build::synchronisation(index, validated, engine, observed, start, &context.defaults)?;
            Ok(apply::start(context, identity, desired).await?)
        }
    }
}

/// A refusal becomes a part of the status; any other failure ends the reconcile.
fn outcome(applied: Result<Applied, Error>) -> Result<(Applied, Option<Refused>), Error> {
    match applied {
        Ok(applied) => Ok((applied, None)),
        Err(Error::Apply(ApplyError::Refused(refused))) => Ok((Applied::Done, Some(refused))),
        Err(error) => Err(error),
    }
}

/// Writes the status when it differs from the last one, and tells users what has changed.
async fn report(
    context: &Context,
    identity: &IndexIdentity,
    index: &Index,
    before: &IndexStatus,
    now: IndexStatus,
) -> Result<(), Error> {
    if now == *before {
        return Ok(());
    }
    write(context, identity, &now).await?;
    context.index_statuses.written(&identity.uid, now.clone());
    context.events.tell(index, &before.conditions, &now.conditions).await;
    Ok(())
}

async fn write(context: &Context, identity: &IndexIdentity, status: &IndexStatus) -> Result<(), Error> {
    let indexes: Api<Index> = Api::namespaced(context.client.clone(), &identity.namespace);
    let patch = json!({
        "apiVersion": "ragengine.dev/v1alpha1",
        "kind": "Index",
        // The status of this one, not of another of the same name.
        "metadata": {"name": identity.name, "uid": identity.uid},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match within_limit(indexes.patch_status(&identity.name, &parameters, &Patch::Apply(&patch))).await {
        Ok(_) => Ok(()),
        // It is gone, or another has its name: nobody waits for this status.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
            context.index_statuses.forget(&identity.uid);
            Ok(())
        }
        Err(error) => {
            context.index_statuses.forget(&identity.uid);
            Err(Error::Status(error))
        }
    }
}

/// Everything is watched but events and the time.
fn next_look(observed: &Observed, plan: &Plan, now: Timestamp, applied: Applied) -> Action {
    let soon = (applied == Applied::IsThere).then_some(LOOK_AGAIN);
    let began = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let for_events = observe::stuck(observed).map(|pod| next_events(began(pod), now));
    // The next second has begun for sure then.
    let planned = plan.look_again.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
    let planned = planned.map(|wait| wait + Duration::from_millis(100));
    match soon.into_iter().chain(for_events).chain(planned).min() {
        Some(wait) => Action::requeue(wait),
        None => Action::await_change(),
    }
}

/// What a failed reconcile leaves: a line in the log, a number, and the next attempt.
pub fn failed(index: Arc<Index>, error: &Error, context: Arc<Context>) -> Action {
    let identity = IndexIdentity::of(&index);
    let wait = context.failures.failed(&identity.uid);
    let index = format!("{}/{}", identity.namespace, identity.name);
    tracing::warn!(index, kind = error.kind(), %error, retry_in_s = wait.as_secs_f64(), "the reconcile failed");
    context.metrics.failed(error.kind());
    Action::requeue(wait)
}
