//! The lease: of several operators one acts. Whoever holds it renews it; when it is not renewed in time another takes it, and who has lost it ends.

mod decide;

use std::time::Duration;

use decide::{Decision, ObservedLease, decide};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::time::Instant;
use tracing::{info, warn};

use crate::requests::within_limit;

/// How long a lease holds without being renewed. It is measured from when a change of it was last seen: clocks need not agree.
const DURATION: Duration = Duration::from_secs(15);
/// How often who holds it renews it.
const RENEWAL: Duration = Duration::from_secs(4);
/// How often who wants it looks.
const LOOK: Duration = Duration::from_secs(2);
/// Who could not renew it for so long has lost it: before another may take it.
const DEADLINE: Duration = Duration::from_secs(11);

/// One lease, as one process sees it.
pub struct Holder {
    leases: Api<Lease>,
    name: String,
    identity: String,
    seen: Option<ObservedLease>,
    /// When what took or renewed it was sent: the others reckon from when that was written, and the reply may come much later.
    sent: Instant,
}

/// The lease was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease was lost: another process acts now, or the API server could not be reached")]
pub struct Lost;

impl Holder {
    /// A process that wants the lease `name`, under a name that no other process has.
    pub fn new(client: &Client, namespace: &str, name: &str, identity: &str) -> Self {
        let leases = Api::namespaced(client.clone(), namespace);
        Self { leases, name: name.to_owned(), identity: identity.to_owned(), seen: None, sent: Instant::now() }
    }

    /// Waits until this process holds the lease. `stands_by` is told after each look whether it could be had if it were free.
    pub async fn acquire(&mut self, stands_by: impl Fn(bool)) {
        let mut told = String::new();
        loop {
            let attempt = self.attempt().await;
            stands_by(attempt.is_ok());
            match attempt {
                // One that is nearly over when it is had is renewed first.
                Ok(Decision::Take | Decision::Renew) if self.left() < DEADLINE.saturating_sub(RENEWAL) => {}
                Ok(Decision::Take | Decision::Renew) => {
                    info!(lease = self.name, identity = self.identity, "the lease is held: this process acts");
                    return;
                }
                Ok(Decision::Wait { holder }) if holder != told => {
                    info!(lease = self.name, holder, "another process acts; this one stands by");
                    told = holder;
                }
                Ok(Decision::Wait { .. }) => {}
                Err(error) => warn!(lease = self.name, %error, "the lease cannot be had; it is tried again"),
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Renews the lease until it is lost.
    pub async fn keep(&mut self) -> Lost {
        loop {
            tokio::time::sleep(RENEWAL.min(self.left())).await;
            match tokio::time::timeout(self.left(), self.attempt()).await {
                Ok(Ok(Decision::Take | Decision::Renew)) => {}
                Ok(Ok(Decision::Wait { .. })) => return Lost,
                Ok(Err(error)) => warn!(lease = self.name, %error, "the lease was not renewed; it is tried again"),
                Err(_) => {}
            }
            if self.left().is_zero() {
                return Lost;
            }
        }
    }

    /// How long it can be relied on.
    fn left(&self) -> Duration {
        DEADLINE.saturating_sub(self.sent.elapsed())
    }

    /// Gives the lease back, so that the next need not wait for its end.
    pub async fn release(&mut self) {
        let Some(lease) = self.seen.as_ref().map(|seen| seen.lease.clone()) else { return };
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            ..lease.spec.clone().unwrap_or_default()
        };
        let released = Lease { spec: Some(spec), ..lease };
        match within_limit(self.leases.replace(&self.name, &PostParams::default(), &released)).await {
            Ok(_) => info!(lease = self.name, "the lease is given back"),
            Err(error) => warn!(lease = self.name, %error, "the lease was not given back: it ends by itself"),
        }
    }

    /// Looks at the lease, and takes or renews it if that may be. What was read must still hold when it is written.
    async fn attempt(&mut self) -> Result<Decision, kube::Error> {
        let Some(found) = within_limit(self.leases.get_opt(&self.name)).await? else {
            let made = Lease {
                metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                spec: Some(self.spec(None)),
            };
            let sent = Instant::now();
            let made = within_limit(self.leases.create(&PostParams::default(), &made)).await?;
            (self.seen, self.sent) = (Some(ObservedLease::now(made)), sent);
            return Ok(Decision::Take);
        };
        let seen = ObservedLease::next(self.seen.take(), found);
        let decision = decide(&seen, &self.identity, DURATION);
        if let Decision::Wait { .. } = decision {
            self.seen = Some(seen);
            return Ok(decision);
        }
        let taken = Lease { spec: Some(self.spec(seen.lease.spec.as_ref())), ..seen.lease.clone() };
        self.seen = Some(seen);
        let sent = Instant::now();
        let taken = within_limit(self.leases.replace(&self.name, &PostParams::default(), &taken)).await?;
        (self.seen, self.sent) = (Some(ObservedLease::now(taken)), sent);
        Ok(decision)
    }

    fn spec(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let is_mine = before.is_some_and(|before| before.holder_identity.as_ref() == Some(&self.identity));
        let transitions = before.and_then(|before| before.lease_transitions).unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: before
                .filter(|_| is_mine)
                .and_then(|before| before.acquire_time.clone())
                .or(Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if is_mine || before.is_none() { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        }
    }
}
