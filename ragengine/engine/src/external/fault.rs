use ragengine_index::IndexError;
use ragengine_stores::StoreError;
use ragengine_vector_database::VectorDatabaseError;

/// The error of an index whose vector engine failed.
pub fn of_engine(error: VectorDatabaseError) -> IndexError {
    match error {
        VectorDatabaseError::NoSuchIndex(name) => IndexError::NoSuchIndex(name),
        other => IndexError::Engine(Box::new(other)),
    }
}

/// The error of an index whose catalogue failed.
pub fn of_catalogue(error: StoreError) -> IndexError {
    IndexError::Engine(Box::new(error))
}
