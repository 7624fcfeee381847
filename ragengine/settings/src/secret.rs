use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The location of a secret. The settings never contain a secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SecretReference {
    /// The path of a file that contains the secret. White space at its end is removed. It is read at start. The file of
    /// the write token is also read while the server runs.
    File(PathBuf),
    /// The name of an environment variable that holds the secret.
    Env(String),
}

/// Implemented by hand because the errors of a derived implementation quote the value, which may be a secret that was
/// written here by mistake.
impl<'de> Deserialize<'de> for SecretReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Place)
    }
}

struct Place;

impl Place {
    fn refuse<E: Error>(&self) -> E {
        E::custom("a secret must not be written here: give its location, {file: PATH} or {env: NAME}")
    }
}

impl<'de> Visitor<'de> for Place {
    type Value = SecretReference;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the location of a secret: {file: PATH} or {env: NAME}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let place = match map.next_key::<String>()?.as_deref() {
            Some("file") => SecretReference::File(map.next_value()?),
            Some("env") => SecretReference::Env(map.next_value()?),
            _ => return Err(self.refuse()),
        };
        match map.next_key::<IgnoredAny>()? {
            None => Ok(place),
            Some(_) => Err(A::Error::custom("a secret has exactly one location: {file: PATH} or {env: NAME}")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(self.refuse())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Err(self.refuse())
    }
}

#[cfg(test)]
mod tests {
    use super::SecretReference;

    #[test]
    fn a_missing_location_is_refused_with_what_is_expected() {
        let message = serde_json::from_str::<SecretReference>("null").unwrap_err().to_string();
        assert!(message.contains("{file: PATH}") && message.contains("{env: NAME}"), "{message}");
    }
}
