use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

/// A lease, and when this version of it was first observed.
#[derive(Debug, Clone)]
pub(super) struct ObservedLease {
    pub(super) lease: Lease,
    since: Instant,
}

/// What this process may do with a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// The lease is free or has expired.
    Take,
    /// This process holds the lease.
    Renew,
    /// Another process holds the lease.
    Wait { holder: String },
}

impl ObservedLease {
    /// A lease that was just written.
    pub(super) fn now(lease: Lease) -> Self {
        Self { lease, since: Instant::now() }
    }

    /// A lease that was just read. The time of the first observation is kept while the version is the same.
    pub(super) fn next(before: Option<Self>, lease: Lease) -> Self {
        let version = &lease.metadata.resource_version;
        let same = before.filter(|before| &before.lease.metadata.resource_version == version);
        Self { since: same.map_or_else(Instant::now, |before| before.since), lease }
    }
}

/// Decides what to do. `duration` applies if the lease has none.
pub(super) fn decide(seen: &ObservedLease, identity: &str, duration: Duration) -> Decision {
    let spec = seen.lease.spec.as_ref();
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
    let duration = seconds.map_or(duration, Duration::from_secs);
    match holder {
        "" => Decision::Take,
        holder if holder == identity => Decision::Renew,
        _ if seen.since.elapsed() >= duration => Decision::Take,
        holder => Decision::Wait { holder: holder.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use kube::api::ObjectMeta;

    use super::*;

    const DURATION: Duration = Duration::from_secs(15);

    fn lease(holder: &str, version: &str) -> Lease {
        Lease {
            metadata: ObjectMeta { resource_version: Some(version.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec { holder_identity: Some(holder.to_owned()), ..LeaseSpec::default() }),
        }
    }

    fn seen(holder: &str, ago: Duration) -> ObservedLease {
        ObservedLease { lease: lease(holder, "1"), since: Instant::now().checked_sub(ago).unwrap() }
    }

    #[test]
    fn a_lease_is_taken_when_it_is_free_or_expired() {
        let wait = Decision::Wait { holder: "other".to_owned() };
        for (seen, decision) in [
            (seen("", Duration::ZERO), Decision::Take),
            (seen("me", Duration::ZERO), Decision::Renew),
            (seen("other", Duration::ZERO), wait.clone()),
            (seen("other", DURATION.saturating_sub(Duration::from_secs(1))), wait),
            (seen("other", DURATION), Decision::Take),
        ] {
            assert_eq!(decide(&seen, "me", DURATION), decision, "{seen:?}");
        }
    }

    #[test]
    fn a_renewed_lease_has_not_expired() {
        let old = seen("other", DURATION);
        let same = ObservedLease::next(Some(old.clone()), lease("other", "1"));
        assert_eq!(decide(&same, "me", DURATION), Decision::Take);
        let renewed = ObservedLease::next(Some(old), lease("other", "2"));
        assert_eq!(decide(&renewed, "me", DURATION), Decision::Wait { holder: "other".to_owned() });
    }
}
