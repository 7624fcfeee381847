use crate::support::{blocked, one, passed, redacted};

fn sensitive(detectors: &str) -> String {
    one(&format!("type: sensitive, detectors: {detectors}"))
}

#[test]
fn each_detector_finds_its_kind() {
    for (detector, text, shown) in [
        ("email", "alice@example.com", "<EMAIL>"),
        ("email", "a.b+c_d%e-f@sub-1.example.co.uk", "<EMAIL>"),
        ("phone", "+1 (206) 555-0100", "<PHONE>"),
        ("phone", "206-555-0100", "<PHONE>"),
        ("phone", "(206) 555-0100", "<PHONE>"),
        ("phone", "+49.170.1234567", "<PHONE>"),
        ("phone", "+12065550100", "<PHONE>"),
        ("credit_card", "4111 1111 1111 1111", "<CREDIT_CARD>"),
        ("credit_card", "4111-1111-1111-1111", "<CREDIT_CARD>"),
        ("credit_card", "378282246310005", "<CREDIT_CARD>"),
        ("credit_card", "4111 1111 1111 1111 2027", "<CREDIT_CARD> 2027"),
        ("credit_card", "4111 1111 1111 1111 123", "<CREDIT_CARD> 123"),
        ("ip_address", "10.0.0.1", "<IP_ADDRESS>"),
        ("ip_address", "255.249.199.99", "<IP_ADDRESS>"),
        ("ip_address", "fe80::1", "<IP_ADDRESS>"),
        ("ip_address", "::1", "<IP_ADDRESS>"),
        ("ip_address", "2001:db8:0:0:0:0:2:1", "<IP_ADDRESS>"),
        ("ip_address", "::ffff:10.0.0.1", "<IP_ADDRESS>"),
    ] {
        let policy = sensitive(&format!("[{detector}]"));
        redacted(&policy, &["Value: ", text], &format!("Value: {shown}"));
        redacted(&policy, &["Value: ", text, ", and"], &format!("Value: {shown}, and"));
        blocked(&format!("action: block\n{policy}"), &["Value: ", text]);
    }
}

#[test]
fn what_only_looks_alike_stays() {
    for (detector, text) in [
        ("email", "alice at example dot com"),
        ("email", "@example.com and alice@ and a@b"),
        ("phone", "extension 42"),
        ("phone", "12065550100"),
        ("phone", "x206-555-0100"),
        ("phone", "2026-11-25 10:30:00"),
        ("phone", "2026-11-25 10.30.00"),
        ("phone", "1 2 3 4 5 6 7 8 9 10 11"),
        ("phone", "4111 1111 1111 1112"),
        ("credit_card", "order 123456789012"),
        ("credit_card", "4111 1111 1111 1112"),
        ("credit_card", "0000 0000 0000 0000"),
        ("credit_card", "a4111111111111111"),
        ("ip_address", "version 10.0.0"),
        ("ip_address", "300.1.1.1"),
        ("ip_address", "1.2.3.256"),
        ("ip_address", "at 12:30:45"),
        ("ip_address", "std::vec and a::b"),
        ("ip_address", "1:2:3"),
    ] {
        passed(&sensitive(&format!("[{detector}]")), &["Value: ", text]);
    }
}

#[test]
fn only_the_detectors_asked_for() {
    redacted(
        &sensitive("[email, IP_Address]"),
        &["Email alice@example.com from 10.0.0.1 but keep 4111 1111 1111 1111"],
        "Email <EMAIL> from <IP_ADDRESS> but keep 4111 1111 1111 1111",
    );
    redacted(
        &sensitive("[credit_card]"),
        &["good 4111 1111 1111 1111 bad 4111 1111 1111 1112"],
        "good <CREDIT_CARD> bad 4111 1111 1111 1112",
    );
    redacted(
        &sensitive("[email, phone, ip_address]"),
        &["Email alice@example.com or call +1 (206) 555-0100 from 10.0.0.1"],
        "Email <EMAIL> or call <PHONE> from <IP_ADDRESS>",
    );
}

#[test]
fn all_kinds_in_one_answer() {
    redacted(
        &one("type: sensitive"),
        &["Email alice@example.com, call +1 (206) 555-0100, use 4111 1111 1111 1111 from 10.0.0.1"],
        "Email <EMAIL>, call <PHONE>, use <CREDIT_CARD> from <IP_ADDRESS>",
    );
    // A telephone number as long as a card's, and a number that is neither.
    redacted(&one("type: sensitive"), &["0049 170 1234 567"], "<PHONE>");
    passed(&one("type: sensitive"), &["bad 4111 1111 1111 1112"]);
}

#[test]
fn a_value_that_is_split() {
    redacted(&sensitive("[email]"), &["Contact alice@", "example.com now"], "Contact <EMAIL> now");
    let prefix = "a".repeat(250);
    let pieces = [prefix.as_str(), " alice@", "example.com now"];
    redacted(&sensitive("[email]"), &pieces, &format!("{prefix} <EMAIL> now"));
    blocked(&format!("action: block\n{}", sensitive("[email]")), &["Reach me at leaked@", "example.com anytime."]);
    redacted(&sensitive("[ip_address]"), &["10.0.", "0.1", "2"], "<IP_ADDRESS>");
}
