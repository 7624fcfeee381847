use std::time::Duration;

use anyhow::bail;
use hyper::StatusCode;

use super::client::{Client, Outcome};
use crate::statistics::percentile;

/// What became of the clients that wait for a reply.
#[derive(Debug, Default)]
pub struct Tally {
    answered: Vec<Duration>,
    refused: usize,
    given_up: usize,
    cut_off: usize,
}

impl Tally {
    /// Counts a client.
    ///
    /// # Errors
    ///
    /// When it got what no client may get.
    pub fn add(&mut self, client: Client, outcome: Outcome) -> anyhow::Result<()> {
        match outcome {
            Outcome::Replied(_, took) if outcome.is_answered(client) => self.answered.push(took),
            Outcome::Replied(StatusCode::TOO_MANY_REQUESTS, _) => self.refused += 1,
            Outcome::Replied(StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT, _) => self.given_up += 1,
            Outcome::Replied(status, _) => bail!("{client:?} got {status}"),
            Outcome::CutOff => self.cut_off += 1,
            Outcome::Gone => {}
        }
        Ok(())
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.answered.len() + self.refused + self.given_up + self.cut_off
    }

    /// Those that got what they wanted.
    pub fn answered(&self) -> usize {
        self.answered.len()
    }

    /// Those that were told to come again: by a 429 that they could read, and by nothing else.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Those whose turn did not come in time.
    pub fn given_up(&self) -> usize {
        self.given_up
    }

    /// Those whose connection was closed while they sent.
    pub fn cut_off(&self) -> usize {
        self.cut_off
    }

    /// Seconds that a part (0 to 1) of the answered did not exceed.
    pub fn seconds(&self, fraction: f64) -> f64 {
        percentile(&self.answered.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(), fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::worst::Heavy;
    use super::*;

    #[test]
    fn every_outcome_has_its_place() {
        let replied = |status| Outcome::Replied(StatusCode::from_u16(status).unwrap(), Duration::from_secs(2));
        let cases = [
            (Client::Asks, replied(200), Some([1, 0, 0, 0])),
            (Client::SendsMuch, replied(422), Some([1, 0, 0, 0])),
            (Client::Chats, replied(429), Some([0, 1, 0, 0])),
            (Client::Writes, replied(503), Some([0, 0, 1, 0])),
            (Client::Chats, replied(504), Some([0, 0, 1, 0])),
            (Client::SendsWorst(Heavy::Filter), replied(413), Some([1, 0, 0, 0])),
            (Client::SendsWorst(Heavy::Numbers), replied(200), Some([1, 0, 0, 0])),
            (Client::SendsWorst(Heavy::Objects), replied(429), Some([0, 1, 0, 0])),
            (Client::SendsWorst(Heavy::Metadata), Outcome::CutOff, Some([0, 0, 0, 1])),
            (Client::SendsWorst(Heavy::Metadata), replied(500), None),
            (Client::SendsMuch, Outcome::CutOff, Some([0, 0, 0, 1])),
            (Client::Leaves, Outcome::Gone, Some([0, 0, 0, 0])),
            (Client::Writes, replied(422), None),
            (Client::SendsMuch, replied(200), None),
            (Client::Asks, replied(500), None),
        ];
        for (client, outcome, expected) in cases {
            let mut tally = Tally::default();
            let added = tally.add(client, outcome).ok();
            let found = [tally.answered(), tally.refused(), tally.given_up(), tally.cut_off()];
            assert_eq!(added.map(|()| found), expected, "{client:?}, {outcome:?}");
            assert_eq!(tally.all(), found.iter().sum::<usize>());
            assert_eq!(tally.seconds(1.0), 2.0 * found[0] as f64);
        }
    }
}
