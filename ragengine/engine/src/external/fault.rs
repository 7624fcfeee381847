use ragengine_index::IndexError;
use ragengine_stores::StoreError;
use ragengine_weaviate::WeaviateError;

/// The error of an index whose vector engine failed.
pub fn of_engine(error: WeaviateError) -> IndexError {
    match error {
        WeaviateError::NoSuchIndex(name) => IndexError::NoSuchIndex(name),
        other => IndexError::Engine(Box::new(other)),
    }
}

/// The error of an index whose catalogue failed.
pub fn of_catalogue(error: StoreError) -> IndexError {
    IndexError::Engine(Box::new(error))
}
