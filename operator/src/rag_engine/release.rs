//! Deletes the NodeClaims of an engine that is being deleted. Kubernetes deletes everything else.

use kube::runtime::controller::Action;
use ragengine_operator_api::RagEngine;

use super::apply::nodes::NodeWriter;
use super::nodes::{Listing, is_held, list};
use super::status_update::StatusUpdate;
use crate::apply::ApplyError;
use crate::context::Context;
use crate::error::Error;
use crate::names::Identity;
use crate::report::report;

/// Lets a deleted engine go. One without the finalizer needs nothing. Where the cluster no longer has NodeClaims, there
/// are none to delete.
///
/// # Errors
///
/// The request that failed. The engine stays then, its status says why, and the controller tries again.
pub async fn release(engine: &RagEngine, context: &Context) -> Result<Action, Error> {
    if !is_held(engine) {
        return Ok(Action::await_change());
    }
    let released = delete_node_claims(engine, context).await;
    if let Err(error) = &released {
        let before = context.statuses.last(&Identity::of(engine).uid, engine.status.as_ref());
        report(context, engine, &before, StatusUpdate::not_released(engine, &before, error)).await?;
    }
    released.map(|()| Action::await_change())
}

async fn delete_node_claims(engine: &RagEngine, context: &Context) -> Result<(), Error> {
    let claims = match list(&context.client, &Identity::of(engine)).await.map_err(Error::Nodes)? {
        Listing::NotServed => Vec::new(),
        Listing::Claims(claims) => claims,
        Listing::Unreadable(why) => return Err(ApplyError::Refused(super::nodes::unreadable(&why)).into()),
    };
    let writer = NodeWriter { client: &context.client, attempts: &context.attempts, engine };
    Ok(writer.release(&claims).await?)
}
