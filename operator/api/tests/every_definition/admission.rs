//! Admission of an object by the API server: defaults, structural schema, CEL rules.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_cel::{Validator, apply_defaults};
use serde_json::Value;

use crate::structural;

/// The schema of a definition's only version.
pub struct Schema(Value);

impl Schema {
    pub fn of(definition: &CustomResourceDefinition) -> Self {
        let definition = serde_json::to_value(definition).unwrap();
        Self(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
    }

    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// The object with all defaults filled in.
    pub fn complete(&self, object: &Value) -> Value {
        apply_defaults(&self.0, object)
    }

    /// The errors of the API server when the object is created, or replaces `old`. Empty if the object is admitted.
    pub fn refusals(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let mut content = object.clone();
        for outside in ["apiVersion", "kind", "metadata"] {
            content.as_object_mut().unwrap().remove(outside).unwrap();
        }
        let mut refusals = structural::problems(&self.0, &content, "");
        if let Err(errors) = Validator::new().validate(&self.0, object, old) {
            refusals.extend(errors.into_vec().into_iter().map(|error| error.message));
        }
        refusals
    }
}
