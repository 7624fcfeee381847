//! Requests of the protocol as those of the engine, and its results as replies. Both have the same JSON, which does
//! most of the work.

use std::collections::HashMap;

use qdrant_client::Payload as ClientPayload;
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::vectors_output::VectorsOptions as OutputOptions;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions as PayloadOptions;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions as VectorsSelected;
use qdrant_client::qdrant::{
    Condition, DenseVector, Filter, NamedVectorsOutput, PointId, PointStruct, Value as PayloadValue, Vector,
    VectorOutput, Vectors, VectorsOutput, WithPayloadSelector, WithVectorsSelector, vector, vector_output,
};
use qdrant_edge::{
    Filter as EdgeFilter, OperationError, Payload, PointId as EdgeId, PointStructPersisted, SparseVector,
    VectorInternal, VectorPersisted, VectorStructInternal, VectorStructPersisted, WithPayloadInterface, WithVector,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tonic::Status;

/// The status of an error of the engine, as Qdrant has it.
#[expect(clippy::needless_pass_by_value, reason = "it is used as a function of an error")]
pub fn failure(error: OperationError) -> Status {
    match &error {
        OperationError::PointIdError { .. } => Status::not_found(error.to_string()),
        OperationError::ServiceError { .. } => Status::internal(error.to_string()),
        _ => Status::invalid_argument(error.to_string()),
    }
}

/// A value of the engine from its JSON.
pub fn of_json<T: DeserializeOwned>(json: Value) -> Result<T, Status> {
    serde_json::from_value(json).map_err(|error| Status::invalid_argument(error.to_string()))
}

/// A filter of the engine.
pub fn filter(filter: Option<Filter>) -> Result<Option<EdgeFilter>, Status> {
    filter.map(|filter| of_json(filter_json(filter)?)).transpose()
}

fn filter_json(filter: Filter) -> Result<Value, Status> {
    let Filter { should, must, must_not, min_should } = filter;
    if min_should.is_some() {
        return Err(Status::unimplemented("min_should"));
    }
    let all = |conditions: Vec<Condition>| conditions.into_iter().map(condition_json).collect::<Result<Vec<_>, _>>();
    let mut json = json!({"must": all(must)?, "must_not": all(must_not)?});
    // An empty list would find nothing.
    if !should.is_empty() {
        json["should"] = all(should)?.into();
    }
    Ok(json)
}

fn condition_json(condition: Condition) -> Result<Value, Status> {
    match condition.condition_one_of {
        Some(ConditionOneOf::Filter(inner)) => filter_json(inner),
        Some(ConditionOneOf::HasId(ids)) => {
            let ids = ids.has_id.into_iter().map(|id| id_json(Some(id))).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({"has_id": ids}))
        }
        Some(ConditionOneOf::Field(field)) => {
            let wanted = match field.r#match.and_then(|wanted| wanted.match_value) {
                Some(MatchValue::Keyword(text)) => Some(json!({"value": text})),
                Some(MatchValue::Keywords(texts)) => Some(json!({"any": texts.strings})),
                Some(_) => return Err(Status::unimplemented("this match")),
                None => None,
            };
            match (wanted, field.range) {
                (Some(wanted), None) => Ok(json!({"key": field.key, "match": wanted})),
                (None, Some(range)) => {
                    let range = json!({"gt": range.gt, "gte": range.gte, "lt": range.lt, "lte": range.lte});
                    Ok(json!({"key": field.key, "range": range}))
                }
                _ => Err(Status::unimplemented("this condition of a field")),
            }
        }
        _ => Err(Status::unimplemented("this condition")),
    }
}

fn id_json(id: Option<PointId>) -> Result<Value, Status> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Uuid(text)) => Ok(Value::String(text)),
        Some(PointIdOptions::Num(number)) => Ok(number.into()),
        None => Err(Status::invalid_argument("a point has no id")),
    }
}

/// An id of the engine.
pub fn id(id: Option<PointId>) -> Result<EdgeId, Status> {
    of_json(id_json(id)?)
}

/// An id of a reply.
pub fn id_of(id: &EdgeId) -> PointId {
    match id {
        EdgeId::NumId(number) => (*number).into(),
        EdgeId::Uuid(uuid) => uuid.to_string().into(),
    }
}

/// Fields of a payload.
pub fn payload(fields: HashMap<String, PayloadValue>) -> Result<Payload, Status> {
    let fields = fields.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    of_json(Value::Object(fields))
}

/// Fields of a reply.
pub fn fields(payload: Option<Payload>) -> Result<HashMap<String, PayloadValue>, Status> {
    let json =
        serde_json::to_value(payload.unwrap_or_default()).map_err(|error| Status::internal(error.to_string()))?;
    let fields = ClientPayload::try_from(json).map_err(|error| Status::internal(error.to_string()))?;
    Ok(fields.into())
}

/// A point of the engine.
pub fn point(point: PointStruct) -> Result<PointStructPersisted, Status> {
    let vector = vectors(point.vectors)?;
    Ok(PointStructPersisted { id: id(point.id)?, vector, payload: Some(payload(point.payload)?) })
}

fn vectors(vectors: Option<Vectors>) -> Result<VectorStructPersisted, Status> {
    match vectors.and_then(|vectors| vectors.vectors_options) {
        Some(VectorsOptions::Vectors(named)) => {
            let vector = |(name, vector)| Ok((name, persisted(vector)?));
            Ok(VectorStructPersisted::Named(named.vectors.into_iter().map(vector).collect::<Result<_, Status>>()?))
        }
        Some(VectorsOptions::Vector(_)) => Err(Status::unimplemented("a vector without a name")),
        None => Ok(VectorStructPersisted::Named(HashMap::new())),
    }
}

fn persisted(vector: Vector) -> Result<VectorPersisted, Status> {
    match vector.vector {
        Some(vector::Vector::Dense(DenseVector { data })) => Ok(VectorPersisted::Dense(data)),
        Some(vector::Vector::Sparse(sparse)) => {
            SparseVector::new(sparse.indices, sparse.values).map(VectorPersisted::Sparse).map_err(invalid)
        }
        _ => Err(Status::unimplemented("this vector")),
    }
}

fn invalid(error: impl ToString) -> Status {
    Status::invalid_argument(error.to_string())
}

/// Vectors of a reply.
pub fn vectors_of(vectors: Option<VectorStructInternal>) -> Result<Option<VectorsOutput>, Status> {
    let Some(vectors) = vectors else { return Ok(None) };
    let VectorStructInternal::Named(named) = vectors else {
        return Err(Status::unimplemented("a vector without a name"));
    };
    let mut output = NamedVectorsOutput::default();
    for (name, vector) in named {
        let VectorInternal::Dense(data) = vector else { return Err(Status::unimplemented("to read this vector")) };
        let vector = Some(vector_output::Vector::Dense(DenseVector { data }));
        output.vectors.insert(name, VectorOutput { vector, ..VectorOutput::default() });
    }
    Ok(Some(VectorsOutput { vectors_options: Some(OutputOptions::Vectors(output)) }))
}

/// Which fields are read.
pub fn with_payload(selector: Option<WithPayloadSelector>) -> Result<WithPayloadInterface, Status> {
    of_json(match selector.and_then(|selector| selector.selector_options) {
        None => json!(false),
        Some(PayloadOptions::Enable(enable)) => json!(enable),
        Some(PayloadOptions::Include(include)) => json!(include.fields),
        Some(PayloadOptions::Exclude(_)) => return Err(Status::unimplemented("to leave out fields")),
    })
}

/// Which vectors are read.
pub fn with_vectors(selector: Option<WithVectorsSelector>) -> Result<WithVector, Status> {
    of_json(match selector.and_then(|selector| selector.selector_options) {
        None => json!(false),
        Some(VectorsSelected::Enable(enable)) => json!(enable),
        Some(VectorsSelected::Include(include)) => json!(include.names),
    })
}
