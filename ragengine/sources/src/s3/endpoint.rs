use ragengine_settings::sync;
use reqwest::Url;

use crate::SourceError;
use crate::address::parse_url;

/// The region if the task has none.
pub const DEFAULT_REGION: &str = "us-east-1";

/// The URL of the service: the configured one, or else that of AWS in the region.
pub fn endpoint_of(source: &sync::S3) -> Result<Url, SourceError> {
    if let Some(endpoint) = &source.endpoint {
        return parse_url(endpoint);
    }
    let region = source.region.as_deref().unwrap_or(DEFAULT_REGION);
    let url = format!("https://s3.{region}.amazonaws.com");
    // The region is part of the host name, so it must not contain characters that change the host.
    if region.is_empty() || !region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(SourceError::Address {
            url,
            reason: "the region is invalid: set it to a name such as eu-central-1",
        });
    }
    parse_url(&url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_leads_to_aws_only() {
        let cases = [
            (None, None, Some("https://s3.us-east-1.amazonaws.com/")),
            (None, Some("eu-central-1"), Some("https://s3.eu-central-1.amazonaws.com/")),
            (Some("https://s3.example.com/"), Some("x@169.254.169.254/"), Some("https://s3.example.com/")),
            (Some("s3.example.com"), None, None),
            (None, Some(""), None),
            (None, Some("x.attacker.example/?"), None),
            (None, Some("x@169.254.169.254/"), None),
            (None, Some("x:8080#"), None),
        ];
        for (endpoint, region, expected) in cases {
            let (endpoint, region) = (endpoint.map(str::to_owned), region.map(str::to_owned));
            let found = endpoint_of(&sync::S3 { endpoint, region: region.clone(), ..sync::S3::default() });
            assert_eq!(found.ok().as_ref().map(Url::as_str), expected, "{region:?}");
        }
    }
}
