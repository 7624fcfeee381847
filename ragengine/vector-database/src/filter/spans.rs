//! Which digits are within bounds.

/// A bound that excludes values of its type.
pub struct Limit {
    /// The digits of its value.
    pub digits: Vec<u8>,
    /// Whether the value itself is within.
    pub is_included: bool,
}

/// Digits that begin in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The first digits.
    pub begin: Vec<u8>,
    /// The digit after them.
    pub next: Next,
}

/// The next digit of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Any, or none.
    Any,
    /// Above this one.
    Above(u8),
    /// Below this one.
    Below(u8),
}

/// The digits between limits, as spans. `last` is the largest digit.
pub fn between(low: Option<&Limit>, high: Option<&Limit>, last: u8) -> Vec<Span> {
    match (low, high) {
        (None, None) => vec![Span { begin: Vec::new(), next: Next::Any }],
        (Some(low), None) => above(low, 0, last),
        (None, Some(high)) => below(high, 0),
        (Some(low), Some(high)) => between_both(low, high, last),
    }
}

/// The digits above a limit that have its first `shared` digits.
fn above(limit: &Limit, shared: usize, last: u8) -> Vec<Span> {
    spans(limit, shared, |digit| (digit < last).then_some(Next::Above(digit)))
}

/// The digits below a limit that have its first `shared` digits.
fn below(limit: &Limit, shared: usize) -> Vec<Span> {
    spans(limit, shared, |digit| (digit > 0).then_some(Next::Below(digit)))
}

fn spans(limit: &Limit, shared: usize, next: impl Fn(u8) -> Option<Next>) -> Vec<Span> {
    let span = |(place, &digit): (usize, &u8)| Some(Span { begin: limit.digits[..place].to_vec(), next: next(digit)? });
    let itself = limit.is_included.then(|| Span { begin: limit.digits.clone(), next: Next::Any });
    limit.digits.iter().enumerate().skip(shared).filter_map(span).chain(itself).collect()
}

fn between_both(low: &Limit, high: &Limit, last: u8) -> Vec<Span> {
    let pairs = low.digits.iter().zip(&high.digits).enumerate();
    let Some((place, (&from, &to))) = pairs.into_iter().find(|(_, (low, high))| low != high) else {
        // Digits of one type never begin with each other, so both are the same.
        let is_included = low.is_included && high.is_included;
        return is_included.then(|| Span { begin: low.digits.clone(), next: Next::Any }).into_iter().collect();
    };
    if from > to {
        return Vec::new();
    }
    let middle = (from + 1..to).map(|digit| Span { begin: [&low.digits[..place], &[digit]].concat(), next: Next::Any });
    middle.chain(above(low, place + 1, last)).chain(below(high, place + 1)).collect()
}
