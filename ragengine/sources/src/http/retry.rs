use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The maximum number of attempts if a server is busy.
pub const MAX_TRIES: u32 = 3;

/// The maximum wait before the next attempt.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The time to wait before the next attempt. `None` if the response is final.
pub fn wait_after(status: StatusCode, headers: &HeaderMap, tries: u32, now: SystemTime) -> Option<Duration> {
    let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    if !is_busy || tries >= MAX_TRIES {
        return None;
    }
    let asked = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let wait = asked.and_then(|text| parse(text.trim(), now)).unwrap_or(Duration::from_secs(1 << tries));
    (wait <= MAX_WAIT).then_some(wait)
}

/// Parses `Retry-After`, which is a number of seconds or a date.
fn parse(text: &str, now: SystemTime) -> Option<Duration> {
    match text.parse() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_after_the_time_that_the_server_asks_for() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let cases = [
            (503, Some("0"), 1, Some(0)),
            (503, Some("7"), 1, Some(7)),
            (429, Some("30"), 2, Some(30)),
            (429, Some("31"), 1, None),
            (429, Some("7"), 3, None),
            (429, None, 1, Some(2)),
            (429, Some("soon"), 2, Some(4)),
            (503, Some("Sun, 06 Nov 1994 08:49:47 GMT"), 1, Some(10)),
            (503, Some("Sun, 06 Nov 1994 08:00:00 GMT"), 1, Some(0)),
            (500, Some("1"), 1, None),
            (200, Some("1"), 1, None),
        ];
        for (status, after, tries, expected) in cases {
            let headers = after.map(|value| (RETRY_AFTER, value.parse().unwrap())).into_iter().collect();
            let wait = wait_after(StatusCode::from_u16(status).unwrap(), &headers, tries, now);
            assert_eq!(wait, expected.map(Duration::from_secs), "{status} {after:?} {tries}");
        }
    }
}
