use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

use super::listing_page::{LeftOut, files_of};

/// The maximum size of a page of a listing. A page has at most 1000 keys of 1 KiB each.
const MAX_PAGE_BYTES: usize = 16 << 20;

/// Makes the library use a client that only connects to permitted addresses, and removes objects that are not files
/// from listings.
#[derive(Debug, Clone)]
pub struct Connector {
    client: reqwest::Client,
    left_out: Arc<Mutex<Vec<LeftOut>>>,
}

impl Connector {
    /// Sends requests with this client.
    pub fn new(client: reqwest::Client) -> Self {
        Self { client, left_out: Arc::default() }
    }

    /// Returns the objects that were removed since the last call.
    pub fn left_out(&self) -> Vec<LeftOut> {
        std::mem::take(&mut *self.left_out.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn files_of(&self, response: HttpResponse) -> Result<HttpResponse, HttpError> {
        let (mut head, body) = response.into_parts();
        let page = Limited::new(body, MAX_PAGE_BYTES).collect().await;
        let page = page.map_err(|error| HttpError::new_boxed(HttpErrorKind::Decode, error))?.to_bytes();
        let listed = files_of(&page).map_err(|error| HttpError::new(HttpErrorKind::Decode, error))?;
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).extend(listed.left_out);
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
        if is_listing && response.status().is_success() { self.files_of(response).await } else { Ok(response) }
    }
}
