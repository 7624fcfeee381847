//! The addresses of the API server behind its Service, which sources must not use either.

use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client};
use parking_lot::RwLock;
use tracing::warn;

use crate::requests::within_limit;

/// The namespace and name of the EndpointSlice in which the API server publishes its addresses.
pub const PLACE: (&str, &str) = ("default", "kubernetes");
/// The interval between two reads, after a success and after a failure.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(30));

/// The known addresses of the API server.
#[derive(Debug, Default)]
pub struct ApiServer(RwLock<Vec<IpAddr>>);

impl ApiServer {
    /// The addresses that were read last.
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.0.read().clone()
    }

    /// Reads the addresses again and again. After a failure the last ones are kept.
    pub async fn run(&self, client: &Client) {
        let mut is_logged = false;
        loop {
            let found = look(client).await;
            let pause = if found.is_ok() { INTERVALS.0 } else { INTERVALS.1 };
            match found {
                Ok(addresses) => *self.0.write() = addresses,
                Err(error) if !is_logged => {
                    is_logged = true;
                    warn!(
                        %error,
                        "the API server's addresses cannot be read: \
                         only the address of its Service is blocked for sources"
                    );
                }
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
        }
    }
}

async fn look(client: &Client) -> Result<Vec<IpAddr>, kube::Error> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), PLACE.0);
    let slice = within_limit(slices.get(PLACE.1)).await?;
    Ok(addresses(&slice))
}

fn addresses(slice: &EndpointSlice) -> Vec<IpAddr> {
    let all = slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    all.filter_map(|address| address.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_addresses_of_all_endpoints_are_read() {
        let slice = json!({"addressType": "IPv4", "endpoints": [
            {"addresses": ["10.0.0.7"]}, {"addresses": ["10.0.0.8", "fd00::8"]}, {"addresses": ["a.name"]},
        ]});
        let found = addresses(&serde_json::from_value(slice).unwrap());
        assert_eq!(found.iter().map(IpAddr::to_string).collect::<Vec<_>>(), ["10.0.0.7", "10.0.0.8", "fd00::8"]);
        assert!(addresses(&EndpointSlice::default()).is_empty());
    }
}
