use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Certificate, Client, ClientBuilder, Response, StatusCode, Url};

use super::chain::Chain;
use super::{body, retry, revision};
use crate::address::{Reach, Resolver, Route};
use crate::credentials::{TokenScheme, WEB_KEYS, WebCredentials};
use crate::{Access, FetchError, FetchedFile, SourceError};

/// The maximum time to connect, and between two reads.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum length of a content type, in bytes. A longer one is ignored.
const MAX_CONTENT_TYPE_BYTES: usize = 200;

/// The HTTP client of one source.
#[derive(Debug)]
pub struct Web {
    client: Client,
    /// The client for redirects from public servers. It has a separate connection pool, because an open connection of
    /// the other client may lead to a private address.
    public_client: Client,
    resolver: Resolver,
    credentials: WebCredentials,
    /// URLs whose origins may receive the credentials.
    trusted: Vec<Url>,
    work_folder: PathBuf,
    timeout: Duration,
}

/// The result of a request for a file.
#[derive(Debug)]
pub enum Answer {
    /// The file still has the known revision.
    Unchanged,
    /// The file does not exist.
    Gone,
    /// The content of the file.
    File {
        /// The file in the work folder.
        file: Box<FetchedFile>,
        /// The URL of the last request, after all redirects.
        read_at: Url,
    },
}

/// A client that only connects to permitted addresses. It does not follow redirects.
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
    /// Reads the credentials from a folder. They are only sent to the origins of the `trusted` URLs.
    pub fn new(credentials: Option<&Path>, trusted: Vec<Url>, access: &Access) -> Result<Self, SourceError> {
        let credentials = WebCredentials::read(credentials, TokenScheme::Bearer)?;
        let resolver = Resolver::new(&access.addresses, &access.proxies);
        let client = |reach| {
            client_builder(access, resolver.within(reach), credentials.authorities.clone())
                .build()
                .map_err(|error| SourceError::Credentials(format!("ca.crt cannot be used: {error}")))
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

    /// Fetches a file, unless it still has the known revision.
    pub async fn get(&self, url: &Url, known: Option<&str>, max_bytes: u64) -> Result<Answer, FetchError> {
        match tokio::time::timeout(self.timeout, self.get_in_time(url, known, max_bytes)).await {
            Ok(answer) => answer,
            Err(_) => Err(FetchError::Timeout { seconds: self.timeout.as_secs() }),
        }
    }

    async fn get_in_time(&self, url: &Url, known: Option<&str>, max_bytes: u64) -> Result<Answer, FetchError> {
        let condition = known.map(revision::condition).unwrap_or_default();
        let response = self.send_with_retries(url, &condition).await?;
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

    /// Sends a request, and repeats it while the server is busy.
    async fn send_with_retries(&self, url: &Url, condition: &HeaderMap) -> Result<Response, FetchError> {
        let mut tries = 1;
        loop {
            let response = self.send(url, condition).await?;
            match retry::wait_after(response.status(), response.headers(), tries, SystemTime::now()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Ok(response),
            }
            tries += 1;
        }
    }

    /// Sends a request, and follows redirects. Each target is checked like an address in the source, and more strictly
    /// if the redirect comes from a public address.
    async fn send(&self, url: &Url, condition: &HeaderMap) -> Result<Response, FetchError> {
        let is_trusted = self.trusted.iter().any(|trusted| trusted.origin() == url.origin());
        let mut chain = Chain::new(url.clone(), is_trusted);
        loop {
            let route = self.resolver.within(chain.reach()).check_request(chain.url()).await?;
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
            let answered_by = match route {
                Route::Direct => response.remote_addr().map(|address| address.ip()),
                Route::Proxied(address) => address,
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
