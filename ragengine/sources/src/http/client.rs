use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Certificate, Client, ClientBuilder, Response, StatusCode, Url};

use super::chain::Chain;
use super::{body, retry, revision};
use crate::address::{Reach, Resolver, Way};
use crate::credentials::{TokenScheme, WEB_KEYS, WebCredentials};
use crate::{Access, FetchError, FetchedFile, SourceError};

/// How long a connection may take, and a server may say nothing.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest type of content that is kept, in bytes.
const MAX_CONTENT_TYPE_BYTES: usize = 200;

/// Web servers, as one source may talk to them.
#[derive(Debug)]
pub struct Web {
    client: Client,
    /// The same for what something public leads to. It has connections of its own: one that the other has open may lead to a private address.
    public_client: Client,
    resolver: Resolver,
    credentials: WebCredentials,
    /// Where the credentials may be sent.
    trusted: Vec<Url>,
    work_folder: PathBuf,
    timeout: Duration,
}

/// What a server said of a file.
#[derive(Debug)]
pub enum Answer {
    /// It is what is known.
    Unchanged,
    /// There is no such file.
    Gone,
    /// Its content.
    File {
        /// The file.
        file: Box<FetchedFile>,
        /// Where it was read after all redirects.
        read_at: Url,
    },
}

/// A client whose connections go only where they may. Redirects are not followed by it.
pub fn client_builder(access: &Access, resolver: Resolver, authorities: Vec<Certificate>) -> ClientBuilder {
    let timeout = access.limits.request_timeout;
    Client::builder()
        .proxy(access.proxies.for_client())
        .dns_resolver(resolver)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .tls_certs_merge(authorities)
        .user_agent(concat!("ragengine/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .read_timeout(SILENCE_TIMEOUT.min(timeout))
        .timeout(timeout)
}

impl Web {
    /// With the credentials of a folder, which are sent to these origins only.
    pub fn new(credentials: Option<&Path>, trusted: Vec<Url>, access: &Access) -> Result<Self, SourceError> {
        let credentials = WebCredentials::read(credentials, TokenScheme::Bearer)?;
        let resolver = Resolver::new(&access.addresses, &access.proxies);
        let client = |reach| {
            client_builder(access, resolver.within(reach), credentials.authorities.clone())
                .build()
                .map_err(|error| SourceError::Credentials(format!("ca.crt is of no use: {error}")))
        };
        Ok(Self {
            client: client(Reach::Any)?,
            public_client: client(Reach::Public)?,
            resolver,
            credentials,
            trusted,
            work_folder: access.work_folder.clone(),
            timeout: access.limits.request_timeout,
        })
    }

    /// Gets a file, unless it is the one that is known.
    pub async fn get(&self, url: &Url, known: Option<&str>, max_bytes: u64) -> Result<Answer, FetchError> {
        match tokio::time::timeout(self.timeout, self.get_in_time(url, known, max_bytes)).await {
            Ok(answer) => answer,
            Err(_) => Err(FetchError::Timeout { seconds: self.timeout.as_secs() }),
        }
    }

    async fn get_in_time(&self, url: &Url, known: Option<&str>, max_bytes: u64) -> Result<Answer, FetchError> {
        let condition = known.map(revision::condition).unwrap_or_default();
        let response = self.ask_patiently(url, &condition).await?;
        match response.status() {
            StatusCode::NOT_MODIFIED if !condition.is_empty() => Ok(Answer::Unchanged),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Answer::Gone),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(FetchError::Unauthorized { status: status.as_u16(), keys: WEB_KEYS })
            }
            status if status.is_success() => self.receive(response, url, known, max_bytes).await,
            status => Err(FetchError::Status { status: status.as_u16() }),
        }
    }

    async fn receive(
        &self,
        response: Response,
        url: &Url,
        known: Option<&str>,
        max_bytes: u64,
    ) -> Result<Answer, FetchError> {
        let mark = revision::of(response.headers());
        if mark.is_some() && mark.as_deref() == known {
            return Ok(Answer::Unchanged);
        }
        let read_at = response.url().clone();
        let content_type = content_type(response.headers());
        let modified = revision::modified(response.headers());
        let spooled = body::save(response, &self.work_folder, max_bytes, |error| self.explain(error)).await?;
        let revision = mark.unwrap_or(spooled.revision);
        if Some(revision.as_str()) == known {
            return Ok(Answer::Unchanged);
        }
        let file =
            FetchedFile { path_on_disk: spooled.path, revision, content_type, url: Some(url.to_string()), modified };
        Ok(Answer::File { file: Box::new(file), read_at })
    }

    /// Asks again when the server is busy.
    async fn ask_patiently(&self, url: &Url, condition: &HeaderMap) -> Result<Response, FetchError> {
        let mut tries = 1;
        loop {
            let response = self.ask(url, condition).await?;
            match retry::wait_after(response.status(), response.headers(), tries, SystemTime::now()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Ok(response),
            }
            tries += 1;
        }
    }

    /// Asks, and follows redirects: each is checked as if it had been written into the source, and more strictly where it comes from a public
    /// address.
    async fn ask(&self, url: &Url, condition: &HeaderMap) -> Result<Response, FetchError> {
        let is_trusted = self.trusted.iter().any(|trusted| trusted.origin() == url.origin());
        let mut chain = Chain::new(url.clone(), is_trusted);
        loop {
            let way = self.resolver.within(chain.reach()).judge(chain.url()).await?;
            let client = match chain.reach() {
                Reach::Any => &self.client,
                Reach::Public => &self.public_client,
            };
            let mut request =
                client.get(chain.url().clone()).headers(condition.clone()).header(ACCEPT_ENCODING, "gzip");
            if let Some(credentials) = self.credentials.header.as_ref().filter(|_| chain.is_trusted()) {
                request = request.header(AUTHORIZATION, credentials);
            }
            let response = request.send().await.map_err(|error| self.explain(&error))?;
            let answered_by = match way {
                Way::Direct => response.remote_addr().map(|address| address.ip()),
                Way::Proxied(address) => address,
            };
            if !chain.follow(answered_by, response.status(), response.headers())? {
                return Ok(response);
            }
        }
    }

    fn explain(&self, error: &reqwest::Error) -> FetchError {
        FetchError::from_client(error, self.timeout)
    }
}

fn content_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    (text.len() <= MAX_CONTENT_TYPE_BYTES).then(|| text.to_owned())
}
