use serde_json::Value;

/// Replaces what differs from run to run: ids, times, boundaries and addresses. Distances are rounded, because
/// processors add in different orders.
pub fn steady(text: &str, address: &str) -> String {
    let text = text.replace(address, "[address]");
    let mut steady = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        steady.push_str(before);
        let end = from.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(from.len());
        let number = from[..end].trim_end_matches('.');
        steady.push_str(&rounded(number));
        rest = &from[number.len()..];
    }
    steady.push_str(rest);
    without_boundaries(&without_ids(&steady))
}

/// Replaces boundaries, which are ten digits separated by spaces.
fn without_boundaries(text: &str) -> String {
    let mut steady = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("--- ") {
        let digits = &rest.as_bytes()[start + 4..];
        let is_boundary = digits.len() >= 19
            && digits[..19].iter().enumerate().all(|(place, byte)| match place % 2 {
                0 => byte.is_ascii_digit(),
                _ => *byte == b' ',
            });
        let end = start + 4 + if is_boundary { 19 } else { 0 };
        steady.push_str(&rest[..start + 4]);
        steady.push_str(if is_boundary { "[boundary]" } else { "" });
        rest = &rest[end..];
    }
    steady.push_str(rest);
    steady
}

/// Replaces our own ids, which may begin with a letter or a digit.
fn without_ids(text: &str) -> String {
    let mut parts = text.split("chatcmpl-");
    let mut steady = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find('"').unwrap_or(0);
        steady.push_str("chatcmpl-[id]");
        steady.push_str(&part[end..]);
    }
    steady
}

fn rounded(number: &str) -> String {
    match number.split_once('.') {
        Some((_, fraction)) if !fraction.is_empty() && !fraction.contains('.') => {
            number.parse::<f64>().map_or_else(|_| number.to_owned(), |value| format!("{value:.2}"))
        }
        None if number.len() >= 10 => "[digits]".to_owned(),
        _ => number.to_owned(),
    }
}

/// Replaces the times of a log line and everything that [`steady`] replaces.
pub fn steady_log(mut line: Value, address: &str) -> Value {
    let fields = line.as_object_mut().unwrap();
    // The module of the code that logs the line.
    fields.remove("target");
    for (name, value) in fields {
        match (name.as_str(), &*value) {
            ("timestamp", _) => *value = Value::from("[time]"),
            (time, _) if time.ends_with("_ms") => *value = Value::from("[milliseconds]"),
            (_, Value::Number(number)) if number.is_f64() => *value = Value::from(rounded(&number.to_string())),
            (_, Value::String(text)) => *value = Value::from(steady(text, address)),
            _ => {}
        }
    }
    line
}
