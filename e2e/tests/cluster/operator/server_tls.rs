//! TLS on the server's port: the documents of an Index arrive, clients verify the certificate, and a renewed one is
//! served without a restart.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::index::Index;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::pod::container_status;
use ragengine_e2e::server::PORT;
use ragengine_e2e::{Error, wait};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;

const SECRET: &str = "certificate";

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a new certificate for the Service `docs`, as cert-manager does, and returns it.
async fn issue(namespace: &Namespace, authority: &Authority) -> Result<CertificateDer<'static>, Error> {
    let key = KeyPair::generate().unwrap();
    let names = vec![format!("docs.{}.svc", namespace.name), namespace.host("docs")];
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, authority).unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate.pem(), "tls.key": key.serialize_pem(), "ca.crt": authority.pem()},
    });
    namespace.apply::<Secret>(SECRET, &secret).await?;
    Ok(certificate.der().clone())
}

/// A client that trusts only one authority.
struct Client {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Client {
    fn new(namespace: &Namespace, authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        // A resumed session would show the certificate with which it began.
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from(namespace.host("docs")).unwrap();
        Self { connector: TlsConnector::from(Arc::new(config)), name }
    }

    /// Sends a request over TLS. Returns the certificate of the server, the status and the body of the reply.
    async fn send(
        &self,
        engine: &Engine<'_>,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(CertificateDer<'static>, u16, Value), String> {
        let pod = engine.ready_pod().await.map_err(|error| error.to_string())?.metadata.name.unwrap();
        let pods: Api<Pod> = engine.pods();
        let mut forwarder = pods.portforward(&pod, &[PORT]).await.map_err(|error| error.to_string())?;
        let stream = forwarder.take_stream(PORT).ok_or("the port was not forwarded")?;
        let encrypted = self.connector.connect(self.name.clone(), stream).await.map_err(|error| error.to_string())?;
        let shown = encrypted.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned();
        let (mut sender, connection) = handshake(TokioIo::new(encrypted)).await.map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("host", self.name.to_str().as_ref());
        let request = request.header("content-type", "application/json").body(Full::new(Bytes::from(body))).unwrap();
        let reply = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = reply.status().as_u16();
        let text = reply.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        Ok((shown, status, serde_json::from_slice(&text).unwrap_or_default()))
    }
}

/// The uid of the pod and the restarts of its container.
async fn running(engine: &Engine<'_>) -> Result<(Option<String>, i32), Error> {
    let pod = engine.ready_pod().await?;
    let restarts = container_status(&pod, "ragengine").map_or(-1, |status| status.restart_count);
    Ok((pod.metadata.uid, restarts))
}

/// The keys of the Secret that the pods of an Index's Jobs get.
fn mounted_keys(jobs: &[Job]) -> Vec<String> {
    let pods = jobs.iter().filter_map(|job| job.spec.as_ref()?.template.spec.clone());
    let volumes = pods.flat_map(|pod| pod.volumes.unwrap_or_default());
    let secrets =
        volumes.filter_map(|volume| volume.secret).filter(|secret| secret.secret_name.as_deref() == Some(SECRET));
    secrets.flat_map(|secret| secret.items.unwrap_or_default()).map(|item| item.key).collect()
}

#[tokio::test]
async fn clients_and_jobs_verify_the_certificate_and_a_renewed_one_is_served() {
    in_namespace("server-tls", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let (authority, other) = (authority(), authority());
        let first = issue(namespace, &authority).await?;
        let spec = json!({"tls": {"secretName": SECRET}, "retrieval": {"maxDistance": 1.1}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        let endpoint = engine.object().await?.status.and_then(|status| status.endpoint);
        assert_eq!(endpoint, Some(format!("https://{}:80/v1", namespace.host("docs"))));

        let documents = json!({"documents": [{"path": "moon.md", "text": "The moon is far away."}]});
        let index = json!({"engineRef": {"name": "docs"}, "sources": [{"name": "here", "inline": documents}]});
        let index = Index::start(namespace, "sky", &index).await?;
        let keys = mounted_keys(&index.jobs().await?);
        assert!(keys.contains(&"ca.crt".to_owned()) && !keys.contains(&"tls.key".to_owned()), "{keys:?}");

        let client = Client::new(namespace, &authority);
        let question = json!({"index_name": "sky", "query": "How far is the moon?"});
        let (shown, status, reply) =
            client.send(&engine, Method::POST, "/retrieve", Some(&question)).await.map_err(Error::Unexpected)?;
        assert_eq!((shown, status), (first.clone(), 200), "{reply}");
        assert!(reply.to_string().contains("The moon is far away."), "{reply}");
        let untrusting = Client::new(namespace, &other).send(&engine, Method::GET, "/livez", None).await;
        assert!(untrusting.is_err(), "another authority is trusted: {untrusting:?}");
        assert!(engine.get("/livez").await.is_err(), "the port speaks plain HTTP");

        let before = running(&engine).await?;
        let renewed = issue(namespace, &authority).await?;
        assert_ne!(first, renewed);
        // The kubelet updates the files after a while, and the server reads them then.
        wait::until("the renewed certificate is served", async || {
            let (shown, status, _) = client.send(&engine, Method::GET, "/livez", None).await?;
            if shown == renewed && status == 200 { Ok(()) } else { Err(format!("the first one, {status}")) }
        })
        .await?;
        assert_eq!(running(&engine).await?, before, "neither the pod nor its container was restarted");
        index.sync().await?;
        index.until_synced().await?;
        Ok(())
    })
    .await;
}
