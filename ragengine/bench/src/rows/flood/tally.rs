use std::time::Duration;

use anyhow::bail;
use hyper::StatusCode;

use super::client::{Client, ClientOutcome};
use crate::statistics::percentile;

/// Counts of the outcomes of clients that wait for a reply.
#[derive(Debug, Default)]
pub struct Tally {
    answered: Vec<Duration>,
    refused: usize,
    timed_out: usize,
    cut_off: usize,
}

impl Tally {
    /// Counts a client.
    ///
    /// # Errors
    ///
    /// If the client got an unexpected status.
    pub fn add(&mut self, client: Client, outcome: ClientOutcome) -> anyhow::Result<()> {
        match outcome {
            ClientOutcome::Replied(_, took) if outcome.is_answered(client) => self.answered.push(took),
            ClientOutcome::Replied(StatusCode::TOO_MANY_REQUESTS, _) => self.refused += 1,
            ClientOutcome::Replied(StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT, _) => {
                self.timed_out += 1
            }
            ClientOutcome::Replied(status, _) => bail!("{client:?} got {status}"),
            ClientOutcome::CutOff => self.cut_off += 1,
            ClientOutcome::Disconnected => {}
        }
        Ok(())
    }

    /// Number of all counted clients.
    pub fn all(&self) -> usize {
        self.answered.len() + self.refused + self.timed_out + self.cut_off
    }

    /// Number of clients whose request was processed.
    pub fn answered(&self) -> usize {
        self.answered.len()
    }

    /// Number of clients that received 429.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Number of clients that received 503 or 504.
    pub fn timed_out(&self) -> usize {
        self.timed_out
    }

    /// Number of clients whose connection was closed while they were sending.
    pub fn cut_off(&self) -> usize {
        self.cut_off
    }

    /// Percentile `fraction` (0 to 1) of the times of answered clients, in seconds.
    pub fn seconds(&self, fraction: f64) -> f64 {
        percentile(&self.answered.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(), fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::worst::HeavyBody;
    use super::*;

    #[test]
    fn every_outcome_is_counted() {
        let replied = |status| ClientOutcome::Replied(StatusCode::from_u16(status).unwrap(), Duration::from_secs(2));
        let cases = [
            (Client::Retrieves, replied(200), Some([1, 0, 0, 0])),
            (Client::SendsLargeBody, replied(422), Some([1, 0, 0, 0])),
            (Client::Chats, replied(429), Some([0, 1, 0, 0])),
            (Client::Writes, replied(503), Some([0, 0, 1, 0])),
            (Client::Chats, replied(504), Some([0, 0, 1, 0])),
            (Client::SendsHeavyBody(HeavyBody::Filter), replied(413), Some([1, 0, 0, 0])),
            (Client::SendsHeavyBody(HeavyBody::Numbers), replied(200), Some([1, 0, 0, 0])),
            (Client::SendsHeavyBody(HeavyBody::Objects), replied(429), Some([0, 1, 0, 0])),
            (Client::SendsHeavyBody(HeavyBody::Metadata), ClientOutcome::CutOff, Some([0, 0, 0, 1])),
            (Client::SendsHeavyBody(HeavyBody::Metadata), replied(500), None),
            (Client::SendsLargeBody, ClientOutcome::CutOff, Some([0, 0, 0, 1])),
            (Client::Disconnects, ClientOutcome::Disconnected, Some([0, 0, 0, 0])),
            (Client::Writes, replied(422), None),
            (Client::SendsLargeBody, replied(200), None),
            (Client::Retrieves, replied(500), None),
        ];
        for (client, outcome, expected) in cases {
            let mut tally = Tally::default();
            let added = tally.add(client, outcome).ok();
            let found = [tally.answered(), tally.refused(), tally.timed_out(), tally.cut_off()];
            assert_eq!(added.map(|()| found), expected, "{client:?}, {outcome:?}");
            assert_eq!(tally.all(), found.iter().sum::<usize>());
            assert_eq!(tally.seconds(1.0), 2.0 * found[0] as f64);
        }
    }
}
