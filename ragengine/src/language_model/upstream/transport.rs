use std::error::Error;
use std::time::Duration;

use axum::http::{HeaderMap, Request, Response, Uri};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ragengine_settings::InferenceService;
use reqwest::Url;

/// How often the kernel probes an idle connection. The values are the defaults of reqwest.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TRIES: u32 = 3;
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a reply, which is still arriving.
pub type ReplyBody = Either<Incoming, reqwest::Body>;

/// The error of a request without a reply.
pub type SendError = Box<dyn Error + Send + Sync>;

/// The way in which chats reach the endpoint.
pub enum Transport {
    /// Plain HTTP without a proxy, such as inside a cluster. For each chat, reqwest would run its layers for redirects
    /// and retries and parse the address three times. That is a tenth of the cost of passing a chat through.
    Direct {
        /// The HTTP client of hyper.
        client: Box<Client<HttpConnector, Full<Bytes>>>,
        /// The address for chats.
        chat: Uri,
    },
    /// TLS, HTTP/2, a proxy, or a password in the address.
    Reqwest {
        /// The HTTP client of reqwest.
        client: reqwest::Client,
        /// The address for chats.
        chat: Url,
    },
}

impl Transport {
    /// The simplest transport that reaches this address. Proxies are read from the environment (`HTTP_PROXY`,
    /// `NO_PROXY` and similar).
    pub fn new(settings: &InferenceService, chat: &Url, client: &reqwest::Client) -> Self {
        match direct(chat) {
            Some(chat) => Self::Direct { client: Box::new(hyper_client(settings)), chat },
            None => Self::Reqwest { client: client.clone(), chat: chat.clone() },
        }
    }

    /// Posts a chat and waits for the head of the reply.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the endpoint cannot be reached or the connection breaks.
    pub async fn post(&self, headers: HeaderMap, body: Bytes) -> Result<Response<ReplyBody>, SendError> {
        match self {
            Self::Direct { client, chat } => {
                let mut request = Request::post(chat.clone()).body(Full::new(body))?;
                *request.headers_mut() = headers;
                Ok(client.request(request).await?.map(Either::Left))
            }
            Self::Reqwest { client, chat } => {
                let response = client.post(chat.clone()).headers(headers).body(body).send().await?;
                Ok(Response::from(response).map(Either::Right))
            }
        }
    }
}

/// The address for [`Transport::Direct`]. None if the address needs reqwest.
fn direct(chat: &Url) -> Option<Uri> {
    let is_plain = chat.scheme() == "http" && chat.username().is_empty() && chat.password().is_none();
    let uri = is_plain.then(|| chat.as_str().parse().ok()).flatten()?;
    Matcher::from_system().intercept(&uri).is_none().then_some(uri)
}

fn hyper_client(settings: &InferenceService) -> Client<HttpConnector, Full<Bytes>> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(settings.connect_timeout_seconds)));
    connector.set_keepalive(Some(KEEP_ALIVE));
    connector.set_keepalive_interval(Some(KEEP_ALIVE));
    connector.set_keepalive_retries(Some(KEEP_ALIVE_TRIES));
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT));
    Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(settings.max_idle_connections as usize)
        .pool_idle_timeout(Duration::from_secs(settings.idle_timeout_seconds))
        .pool_timer(TokioTimer::new())
        .build(connector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_address_is_reached_directly() {
        for (address, is_direct) in [
            ("http://127.0.0.1:8000/v1/chat/completions", true),
            ("https://127.0.0.1/v1/chat/completions", false),
            ("http://me:secret@127.0.0.1/v1/chat/completions", false),
            ("http://me@127.0.0.1/v1/chat/completions", false),
        ] {
            assert_eq!(direct(&Url::parse(address).unwrap()).is_some(), is_direct, "{address}");
        }
    }
}
