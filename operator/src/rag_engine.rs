//! A reconcile of a RAGEngine: validate → observe → build → apply → status. What is observed hangs on what the specification refers to, so that is
//! read first.

pub mod build;
pub mod hold;
pub mod monitoring;
pub mod observe;
pub mod pod_template;
pub mod references;
pub mod server_image;
pub mod settings;
pub mod status;
pub mod validate;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hold::{Before, Hold};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use ragengine_operator_api::{RagEngine, RagEngineStatus};
use references::ReferenceKind;
use serde_json::json;
use status::Known;
use validate::Validated;

use crate::apply::{Applied, ApplyError, apply, stop};
use crate::context::Context;
use crate::departed::{self, Attended};
use crate::engine::Target;
use crate::error::Error;
use crate::names::{FIELD_MANAGER, Identity};
use crate::requests::within_limit;
use crate::watches::Referred;

/// What the caches do not show yet is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The shortest and the longest time from one look at events to the next.
const EVENTS_AGAIN: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));
/// Who waits for a turn asks for it again after this time.
const NEXT_TURN: Duration = Duration::from_secs(10);

/// Makes everything as it was asked to be, and says what became of it.
///
/// # Errors
///
/// The step that failed. It is tried again.
pub async fn reconcile(engine: &RagEngine, context: &Context) -> Result<Action, Error> {
    if engine.metadata.deletion_timestamp.is_some() {
        // What is owned goes by itself.
        return Ok(Action::await_change());
    }
    let identity = Identity::of(engine);
    let validated = validate::validate(engine, &context.defaults);
    context.referrers.set(identity.owner(), referred(engine, &identity, validated.as_ref().ok()));
    let mut observed = observe::observe(context, engine, &validated).await.map_err(Error::Observe)?;
    let status = context.statuses.last(&identity.uid, engine.status.as_ref());
    let mut hold = Hold::asked_for(engine);
    let applied = match &validated {
        _ if hold.is_some() => Applied::default(),
        Ok(validated) => {
            let desired = build::build(validated, &observed, &context.defaults)?;
            let before = Before { engine, status: &status, observed: &observed, desired: &desired };
            hold = Hold::for_a_turn(before, &context.defaults.rollouts);
            match hold {
                Some(_) => Applied::default(),
                None => apply(&context.client, &context.memory, &identity, desired, &mut observed).await,
            }
        }
        // For a specification that is not understood nothing is changed: what runs goes on running, unless it is to stop.
        Err(_) => stopped(context, engine, &identity, &observed).await,
    };
    let refused = applied.refusal();
    context.engines.ask(&identity, target(&observed));
    // What keeps documents from being deleted keeps nobody from being told how the engine is.
    let attended = match hold {
        Some(Hold::Paused) => Ok(Attended::default()),
        Some(Hold::Queued { .. }) | None => departed::attend(context, engine, &observed).await,
    };
    let (departed, not_attended) = match attended {
        Ok(attended) => (attended, None),
        Err(error) => (Attended::failed(&error), Some(error)),
    };
    let known = Known {
        engine,
        invalid: validated.as_ref().map_or_else(Some, |validated| validated.wrong_template.as_ref()),
        refused: refused.as_ref(),
        observed: &observed,
        remains: departed.failure.as_ref(),
        is_current: !applied.is_lagging,
        hold,
    };
    if let Some(failed) = applied.failed {
        return Err(failed.into());
    }
    report(context, &identity, known).await?;
    match refused.map(|refused| ApplyError::Refused(refused).into()).or(not_attended) {
        Some(error) => Err(error),
        None => {
            let stuck_since = observe::stuck_since(&observed, engine.spec.replicas);
            let for_events = stuck_since.map(|since| next_events(since, (context.clock)()));
            let for_caches = applied.is_lagging.then_some(LOOK_AGAIN);
            let next_turn = matches!(hold, Some(Hold::Queued { .. })).then_some(NEXT_TURN);
            let next = [for_events, for_caches, next_turn, departed.look_again].into_iter().flatten().min();
            Ok(next.map_or_else(Action::await_change, Action::requeue))
        }
    }
}

async fn stopped(context: &Context, engine: &RagEngine, identity: &Identity, observed: &observe::Observed) -> Applied {
    let running = observed.deployment.as_deref().filter(|_| engine.spec.replicas == 0);
    let failed = match running {
        Some(deployment) => stop(&context.client, identity, deployment).await.err(),
        None => None,
    };
    Applied { failed, ..Applied::default() }
}

/// What wakes this RAGEngine when it comes, changes or goes.
fn referred(engine: &RagEngine, identity: &Identity, validated: Option<&Validated>) -> BTreeSet<(Referred, String)> {
    let references = validated.map_or(&[][..], |validated| &validated.references);
    let kind = |kind| match kind {
        ReferenceKind::Secret => Referred::Secret,
        ReferenceKind::ConfigMap => Referred::ConfigMap,
    };
    let claim = observe::claim_name(&engine.spec, identity).map(|claim| (Referred::Claim, claim));
    let named = references.iter().map(|reference| (kind(reference.kind), reference.name.clone()));
    named.chain(claim).chain([(Referred::Secret, identity.write_token())]).collect()
}

/// Where the server can be asked: in the current pod, once it has begun.
fn target(observed: &observe::Observed) -> Option<Target> {
    target_of(&observed.pods)
}

/// The same of these pods of one server.
pub fn target_of(pods: &[Arc<Pod>]) -> Option<Target> {
    let pod = status::pod::current(pods).filter(|pod| status::pod::has_begun(pod))?;
    let address = pod.status.as_ref()?.pod_ip.as_ref()?.parse().ok()?;
    Some(Target { pod_uid: pod.metadata.uid.clone()?, address, status_port: monitoring::port_of(pod) })
}

/// Writes the status when it differs from the last one, and tells users what has changed.
async fn report(context: &Context, identity: &Identity, known: Known<'_>) -> Result<(), Error> {
    let engine = known.engine;
    if known.hold.is_none() && status::is_done(known) {
        context.defaults.rollouts.end(&identity.uid);
    }
    let before = context.statuses.last(&identity.uid, engine.status.as_ref());
    let now = status::status(known, &before, &context.defaults, &Time(whole_seconds(Timestamp::now())));
    if now == before {
        return Ok(());
    }
    write(context, identity, &now).await?;
    context.statuses.written(&identity.uid, now.clone());
    context.events.tell(engine, &before.conditions, &now.conditions).await;
    Ok(())
}

/// As Kubernetes keeps it.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

async fn write(context: &Context, identity: &Identity, status: &RagEngineStatus) -> Result<(), Error> {
    let engines: Api<RagEngine> = Api::namespaced(context.client.clone(), &identity.namespace);
    let patch = json!({
        "apiVersion": "ragengine.dev/v1alpha1",
        "kind": "RAGEngine",
        // The status of this one, not of another of the same name.
        "metadata": {"name": identity.name, "uid": identity.uid},
        "status": status,
    });
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    match within_limit(engines.patch_status(&identity.name, &parameters, &Patch::Apply(&patch))).await {
        Ok(_) => Ok(()),
        // It is gone, or another has its name: nobody waits for this status.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
            context.statuses.forget(&identity.uid);
            Ok(())
        }
        Err(error) => {
            context.statuses.forget(&identity.uid);
            Err(Error::Status(error))
        }
    }
}

/// Events, which say why a pod does not begin, are not watched. They are read again the later the longer that is so.
pub fn next_events(since: Timestamp, now: Timestamp) -> Duration {
    let waited = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    (waited / 4).clamp(EVENTS_AGAIN.0, EVENTS_AGAIN.1)
}

/// What a failed reconcile leaves: a line in the log, a number, and the next attempt.
pub fn failed(engine: Arc<RagEngine>, error: &Error, context: Arc<Context>) -> Action {
    let identity = Identity::of(&engine);
    let wait = context.failures.failed(&identity.uid);
    let engine = format!("{}/{}", identity.namespace, identity.name);
    tracing::warn!(engine, kind = error.kind(), %error, retry_in_s = wait.as_secs_f64(), "the reconcile failed");
    context.metrics.failed(error.kind());
    Action::requeue(wait)
}
