mod card;
mod internet;
mod phone;

use std::sync::Arc;

use super::Work;
use crate::patterns::{Accept, Case, Patterns, Rule, parse};
use crate::policy::fields::{Fields, Problem};
use crate::redaction::Replacement;

/// A kind of personal data: the name in a policy, what replaces it, and its patterns.
struct Detector {
    name: &'static str,
    replacement: &'static str,
    patterns: &'static [(&'static str, Option<Accept>)],
}

/// All kinds. An earlier one wins over a later one that begins at the same place.
const DETECTORS: [Detector; 4] = [
    Detector { name: "email", replacement: "<EMAIL>", patterns: &[(internet::EMAIL, None)] },
    Detector { name: "credit_card", replacement: "<CREDIT_CARD>", patterns: &[(card::CARD, Some(card::accept))] },
    Detector {
        name: "ip_address",
        replacement: "<IP_ADDRESS>",
        patterns: &[(internet::IPV6, Some(internet::accept_ipv6)), (internet::IPV4, None)],
    },
    Detector { name: "phone", replacement: "<PHONE>", patterns: &[(phone::PHONE, Some(phone::accept))] },
];

/// `sensitive`: `detectors`.
pub(super) fn build(fields: &mut Fields) -> Result<Work, Problem> {
    let names = DETECTORS.map(|detector| detector.name);
    let chosen = fields.choices("detectors", &names)?;
    let problem = |error: String| Problem::new("type", error);
    let mut rules = Vec::new();
    for detector in DETECTORS.iter().filter(|detector| chosen.contains(&detector.name)) {
        for (pattern, accept) in detector.patterns {
            let rule =
                Rule::new(parse(pattern, Case::Sensitive).map_err(problem)?, Replacement::Text(detector.replacement));
            rules.push(match accept {
                Some(accept) => rule.accept(*accept),
                None => rule,
            });
        }
    }
    Ok(Work::Patterns(Arc::new(Patterns::new(rules).map_err(problem)?)))
}
