//! Constant load on an engine: a pod of `cluster-client` that writes, deletes, reads, searches and chats through a
//! Service, and compares every answer with what it wrote.

use std::collections::BTreeSet;

use hyper::Method;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::forward::{Connection, Reply};
use crate::namespace::Namespace;
use crate::{Error, pod, wait};

/// The port on which the pod reports, and is paused.
pub const PORT: u16 = 8000;

/// The name of the pod.
const LOAD: &str = "load";

/// What the load has done, since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The number of requests with an answer.
    pub requests: u64,
    /// The number of attempts that were made again, because no server answered, or one answered that it cannot now.
    pub repeated: u64,
    /// The reasons of the first and last ones.
    pub repetitions: Vec<String>,
    /// The first wrong answers, and requests that never succeeded.
    pub wrong: Vec<String>,
    /// The ids of the documents whose write was acknowledged.
    pub documents: BTreeSet<String>,
    /// The ids of the documents whose deletion was acknowledged.
    pub deleted: BTreeSet<String>,
}

/// The text of a document of the load.
pub fn text(doc_id: &str) -> String {
    const WHO: [&str; 7] = ["cook", "captain", "carpenter", "surgeon", "gunner", "purser", "boatswain"];
    const WHAT: [&str; 5] = ["counted ropes", "mended a sail", "saw a whale", "wrote a letter", "painted the mast"];
    let sum = doc_id.bytes().fold(0_usize, |sum, byte| sum * 31 % 1_000_003 + usize::from(byte));
    format!("Entry {doc_id} of the ship's log: the {} {}.", WHO[sum % WHO.len()], WHAT[sum % WHAT.len()])
}

/// A running load.
pub struct Load<'a> {
    namespace: &'a Namespace,
}

impl<'a> Load<'a> {
    /// Starts it on an index, at the base URL of a server.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &'a Namespace, url: &str, index: &str) -> Result<Self, Error> {
        let mut pod = pod::client_pod(LOAD, &["load", url, index])?;
        pod.metadata = ObjectMeta { name: Some(LOAD.to_owned()), ..ObjectMeta::default() };
        namespace.create_object(&pod).await?;
        let is_running = |pod: &Pod| if pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) };
        namespace.until(LOAD, "the load runs", is_running).await?;
        let load = Self { namespace };
        // The pod is ready before its port listens.
        wait::until("the load reports", async || load.report().await.map_err(|error| error.to_string())).await?;
        Ok(load)
    }

    /// What it has done.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn report(&self) -> Result<Report, Error> {
        report_of(&self.control(Method::GET, "/report").await?)
    }

    /// Waits until running requests have ended, and starts no more. Returns what it has done.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn pause(&self) -> Result<Report, Error> {
        report_of(&self.control(Method::POST, "/pause").await?)
    }

    /// Continues after a pause.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn resume(&self) -> Result<(), Error> {
        self.control(Method::POST, "/resume").await?.ok().map(drop)
    }

    /// Waits for this number of further answers.
    ///
    /// # Errors
    ///
    /// When they do not come in time, or an answer is wrong.
    pub async fn until_further(&self, requests: u64) -> Result<Report, Error> {
        let before = self.report().await?.requests;
        let wanted = format!("{requests} further answers to the load");
        let report = wait::until(&wanted, async || {
            let report = self.report().await.map_err(|error| error.to_string())?;
            if report.requests >= before + requests || !report.wrong.is_empty() {
                return Ok(report);
            }
            Err(format!("{} answers after {before}; {:?}", report.requests, report.repetitions.last()))
        });
        let report = report.await?;
        if report.wrong.is_empty() {
            Ok(report)
        } else {
            Err(Error::Unexpected(format!("wrong answers under load: {}", report.wrong.join("\n"))))
        }
    }

    async fn control(&self, method: Method, path: &str) -> Result<Reply, Error> {
        Connection::open(&self.namespace.api(), LOAD, PORT).await?.send(method, path, None).await
    }
}

fn report_of(reply: &Reply) -> Result<Report, Error> {
    serde_json::from_value(reply.ok()?).map_err(|error| Error::Unexpected(format!("the report of the load: {error}")))
}
