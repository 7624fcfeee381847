//! Leader election: one of several operators acts, even if others or the API server fail.

use std::time::Duration;

use ragengine_operator::lease::Holder;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::api_server::{ApiServer, Fault, pass};

/// How long a lease is valid without renewal.
const DURATION: Duration = Duration::from_secs(15);

fn holder(server: &ApiServer, identity: &str) -> Holder {
    Holder::new(&server.client(), "tests", "operator", identity)
}

fn held_by(server: &ApiServer) -> Value {
    server.get("leases", "operator").unwrap()["spec"]["holderIdentity"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_taken_renewed_and_given_back() {
    let server = ApiServer::default();
    let mut one = holder(&server, "one");
    one.acquire(|_| ()).await;
    assert_eq!(held_by(&server), "one");
    let acquired = server.get("leases", "operator").unwrap()["spec"]["acquireTime"].clone();
    drop(server.calls());
    assert!(timeout(Duration::from_secs(3600), one.keep()).await.is_err(), "the lease is kept");
    let renewals = server.calls().iter().filter(|call| call.verb == "update" && call.status == Some(200)).count();
    assert!(renewals >= 3600 / 5, "{renewals} in an hour");
    assert_eq!(server.get("leases", "operator").unwrap()["spec"]["acquireTime"], acquired);
    one.release().await;
    assert_eq!(held_by(&server), "");
    let started = Instant::now();
    holder(&server, "two").acquire(|_| ()).await;
    assert_eq!(started.elapsed(), Duration::ZERO, "the next holder does not wait");
    assert_eq!(server.get("leases", "operator").unwrap()["spec"]["leaseTransitions"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_over_when_the_holder_is_gone() {
    let server = ApiServer::default();
    let mut one = holder(&server, "one");
    one.acquire(|_| ()).await;
    let standby = tokio::spawn({
        let server = server.clone();
        async move { holder(&server, "two").acquire(|_| ()).await }
    });
    drop(timeout(Duration::from_secs(100), one.keep()).await);
    assert!(!standby.is_finished(), "the lease is held");
    let stopped = Instant::now();
    standby.await.unwrap();
    assert!(stopped.elapsed() <= DURATION + Duration::from_secs(3), "{:?}", stopped.elapsed());
    assert_eq!(held_by(&server), "two");
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_sees_another_holder_has_lost_the_lease() {
    let server = ApiServer::default();
    let mut one = holder(&server, "one");
    one.acquire(|_| ()).await;
    server.edit("leases", "operator", |lease| lease["spec"]["holderIdentity"] = json!("two"));
    timeout(DURATION, one.keep()).await.expect("it does not notice the other holder");
    assert_eq!(held_by(&server), "two");
}

/// For two writes at the same time, the resource version decides.
#[tokio::test(start_paused = true)]
async fn a_write_conflict_gives_the_lease_to_one() {
    let server = ApiServer::default();
    server.fail("update", "leases", 1, Fault::Refusal(409, "the object has been modified"));
    server.put("leases", json!({"metadata": {"name": "operator"}, "spec": {}}));
    let mut one = holder(&server, "one");
    let mut acquiring = tokio::spawn(async move {
        one.acquire(|_| ()).await;
        one
    });
    pass(Duration::from_millis(100)).await;
    assert!(!acquiring.is_finished(), "a conflict does not give the lease");
    server.edit("leases", "operator", |lease| {
        lease["spec"] = json!({"holderIdentity": "two", "leaseDurationSeconds": 15});
    });
    assert!(timeout(Duration::from_secs(10), &mut acquiring).await.is_err(), "the other one has it");
    acquiring.abort();
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_does_not_lose_the_lease() {
    for fault in
        [Fault::Refusal(500, "no"), Fault::Refusal(409, "changed"), Fault::Garbage, Fault::Refusal(429, "later")]
    {
        for verb in ["get", "update"] {
            let server = ApiServer::default();
            let mut one = holder(&server, "one");
            one.acquire(|_| ()).await;
            server.fail(verb, "leases", 1, fault.clone());
            assert!(timeout(LONG, one.keep()).await.is_err(), "{verb} {fault:?}");
            assert_eq!(held_by(&server), "one");
        }
    }
}

const LONG: Duration = Duration::from_secs(600);

/// The holder must stop before another may take the lease. Its deadline counts from the sending of the last renewal,
/// because the API server may have written it at once.
#[tokio::test(start_paused = true)]
async fn without_the_api_server_the_lease_is_lost_before_another_may_take_it() {
    let slow = |seconds| Fault::Late(Duration::from_secs(seconds));
    for (renewals, then) in [
        (None, Fault::Silence),
        (None, Fault::Refusal(500, "no")),
        (Some(slow(1)), Fault::Silence),
        (Some(slow(6)), Fault::Silence),
        (Some(slow(6)), Fault::Refusal(500, "no")),
        (Some(slow(10)), Fault::Silence),
    ] {
        let case = format!("{renewals:?} {then:?}");
        let server = ApiServer::default();
        let mut one = holder(&server, "one");
        one.acquire(|_| ()).await;
        if let Some(late) = renewals {
            server.fail("update", "leases", 1, late);
        }
        server.fail("update", "leases", usize::MAX, then.clone());
        // The first matching fault applies, so the late renewal comes before the failing ones.
        let lost = tokio::spawn(async move { one.keep().await });
        let mut written = (server.get("leases", "operator").unwrap(), Instant::now());
        while !lost.is_finished() {
            pass(Duration::from_millis(50)).await;
            let lease = server.get("leases", "operator").unwrap();
            if lease != written.0 {
                written = (lease, Instant::now());
            }
            assert!(written.1.elapsed() < DURATION, "{case}: another may have it, and this one still acts");
        }
        assert!(
            !lost.is_finished() || written.1.elapsed() >= Duration::from_secs(5),
            "{case}: not at the first failure"
        );
    }
}

/// A lease must not be used if it has expired by the time of the reply.
#[tokio::test(start_paused = true)]
async fn a_lease_that_expires_while_it_is_acquired_is_not_held() {
    for verb in ["create", "update"] {
        let server = ApiServer::default();
        if verb == "update" {
            server.put("leases", json!({"metadata": {"name": "operator"}, "spec": {}}));
        }
        server.fail(verb, "leases", 1, Fault::Late(Duration::from_secs(18)));
        let mut one = holder(&server, "one");
        let mut acquiring = tokio::spawn(async move { one.acquire(|_| ()).await });
        pass(Duration::from_millis(18_500)).await;
        assert!(!acquiring.is_finished(), "{verb}");
        timeout(Duration::from_secs(5), &mut acquiring).await.expect("the renewed lease is held").unwrap();
    }
}
