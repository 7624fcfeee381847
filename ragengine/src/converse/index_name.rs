//! The index of a question.

use crate::access::{Caller, sees};
use crate::app::App;
use crate::error::ApiError;

/// The index that a request names, else the one of the setting `defaultIndex`, else the only one that the caller may
/// read.
///
/// # Errors
///
/// [`ApiError::InvalidRequest`] when there is no such index, or several.
pub(crate) async fn chosen(app: &App, caller: &Caller, named: Option<&str>) -> Result<String, ApiError> {
    let named = named.filter(|name| !name.is_empty()).or(app.settings.default_index.as_deref());
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let mut names = app.loaded()?.catalog.names().await;
    names.retain(|name| sees(caller, name));
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(ApiError::InvalidRequest(
            "there is no index yet: add documents with POST /index, or name an index with index_name".to_owned(),
        )),
        _ => Err(ApiError::InvalidRequest(
            "index_name is missing, and there are several indexes (GET /indexes lists them): name one, or set \
             defaultIndex"
                .to_owned(),
        )),
    }
}
