use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

use super::listed::without_odd_keys;

/// A page of a listing has a thousand keys of a kilobyte each at most.
const MAX_PAGE_BYTES: usize = 16 << 20;

/// Gives a client that goes only where it may to the library, instead of one that it would make. It takes keys that the library cannot have out of
/// listings.
#[derive(Debug, Clone)]
pub struct Connector {
    client: reqwest::Client,
    odd_keys: Arc<Mutex<Vec<String>>>,
}

impl Connector {
    /// One that asks with this client.
    pub fn new(client: reqwest::Client) -> Self {
        Self { client, odd_keys: Arc::default() }
    }

    /// The keys that were left out since this was asked last.
    pub fn odd_keys(&self) -> Vec<String> {
        std::mem::take(&mut *self.odd_keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn without_odd_keys(&self, response: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (mut head, body) = response.into_parts();
        let page = Limited::new(body, MAX_PAGE_BYTES).collect().await;
        let page = page.map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error))?.to_bytes();
        let listed = without_odd_keys(&page);
        self.odd_keys.lock().unwrap_or_else(PoisonError::into_inner).extend(listed.odd_keys);
        head.headers.remove("content-length");
        Ok(HttpResponse::from_parts(head, listed.xml.into()))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_listing = request.uri().query().is_some_and(|query| query.contains("list-type=2"));
        let response = self.client.call(request).await?;
        if is_listing && response.status().is_success() { self.without_odd_keys(response).await } else { Ok(response) }
    }
}
