//! Leader election with a lease: only one of several operators acts. The holder renews the lease. If it fails to,
//! another operator takes the lease and the holder exits.

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

/// How long a lease is valid without a renewal. Measured from the last observed change, so that clocks need not agree.
const DURATION: Duration = Duration::from_secs(15);
/// The interval at which the holder renews the lease.
const RENEWAL: Duration = Duration::from_secs(4);
/// The interval at which a standby checks the lease.
const LOOK: Duration = Duration::from_secs(2);
/// The holder gives up after this time without a renewal, before another operator may take the lease.
const DEADLINE: Duration = Duration::from_secs(11);

/// One process that wants or holds a lease.
pub struct Holder {
    leases: Api<Lease>,
    name: String,
    identity: String,
    seen: Option<ObservedLease>,
    /// When the last successful write was sent. Other processes measure from the write itself, and the reply may arrive
    /// much later.
    sent: Instant,
}

/// The lease was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease was lost: another process took it, or the API server was unreachable")]
pub struct Lost;

impl Holder {
    /// A candidate for the lease `name`. `identity` must be unique among all processes.
    pub fn new(client: &Client, namespace: &str, name: &str, identity: &str) -> Self {
        let leases = Api::namespaced(client.clone(), namespace);
        Self { leases, name: name.to_owned(), identity: identity.to_owned(), seen: None, sent: Instant::now() }
    }

    /// Waits until this process holds the lease. After each check, `stands_by` is called with whether the lease could
    /// be read.
    pub async fn acquire(&mut self, stands_by: impl Fn(bool)) {
        let mut logged_holder = String::new();
        loop {
            let attempt = self.attempt().await;
            stands_by(attempt.is_ok());
            match attempt {
                // A lease that is about to expire is renewed first.
                Ok(Decision::Take | Decision::Renew) if self.left() < DEADLINE.saturating_sub(RENEWAL) => {}
                Ok(Decision::Take | Decision::Renew) => {
                    info!(lease = self.name, identity = self.identity, "lease acquired: this process is the leader");
                    return;
                }
                Ok(Decision::Wait { holder }) if holder != logged_holder => {
                    info!(lease = self.name, holder, "another process is the leader: standing by");
                    logged_holder = holder;
                }
                Ok(Decision::Wait { .. }) => {}
                Err(error) => warn!(lease = self.name, %error, "the lease could not be read or written: retrying"),
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
                Ok(Err(error)) => warn!(lease = self.name, %error, "the lease could not be renewed: retrying"),
                Err(_) => {}
            }
            if self.left().is_zero() {
                return Lost;
            }
        }
    }

    /// How long the lease is still valid for this process.
    fn left(&self) -> Duration {
        DEADLINE.saturating_sub(self.sent.elapsed())
    }

    /// Releases the lease, so that the next process need not wait until it expires.
    pub async fn release(&mut self) {
        let Some(lease) = self.seen.as_ref().map(|seen| seen.lease.clone()) else { return };
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            ..lease.spec.clone().unwrap_or_default()
        };
        let released = Lease { spec: Some(spec), ..lease };
        match within_limit(self.leases.replace(&self.name, &PostParams::default(), &released)).await {
            Ok(_) => info!(lease = self.name, "lease released"),
            Err(error) => {
                warn!(lease = self.name, %error, "the lease could not be released: it expires after a few seconds")
            }
        }
    }

    /// Reads the lease, and takes or renews it if that is allowed. The write fails if the lease has changed since it
    /// was read.
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
