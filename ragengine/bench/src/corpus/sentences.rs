use super::random::Random;
use super::vocabulary::{DOMAINS, Domain, MONTHS, PLACES, QUALITIES, REASONS, ROLES};

/// Number of sentence templates of [`Topic::sentence`].
pub const TEMPLATES: usize = 14;

/// The topic of a document. All its sentences and the question about it share these words.
pub struct Topic {
    domain: &'static Domain,
    thing: &'static str,
    part: &'static str,
    trouble: &'static str,
    place: &'static str,
    role: &'static str,
    year: usize,
}

impl Topic {
    pub fn new(random: &mut Random) -> Self {
        let domain = &DOMAINS[random.below(DOMAINS.len())];
        Self {
            domain,
            thing: random.pick(domain.things),
            part: random.pick(domain.parts),
            trouble: random.pick(domain.troubles),
            place: random.pick(PLACES),
            role: random.pick(ROLES),
            year: 1960 + random.below(65),
        }
    }

    /// A question about the topic, of about ten words.
    pub fn question(&self) -> String {
        let Self { thing, part, trouble, place, role, year, .. } = self;
        match year % 4 {
            0 => format!("When was the {part} of the {place} {thing} repaired?"),
            1 => format!("{thing} {place} {year} {part} {trouble}"),
            2 => format!("Who looks after the {part} of the {thing} in {place}?"),
            _ => format!("What did the {role} in {place} do about the {part}?"),
        }
    }

    pub fn opening(&self, random: &mut Random) -> String {
        let Self { thing, place, year, .. } = self;
        let (quality, month) = (random.pick(QUALITIES), random.pick(MONTHS));
        format!("The {quality} {thing} in {place} has been in use since {month} {year}.")
    }

    pub fn sentence(&self, template: usize, random: &mut Random) -> String {
        let Self { domain, thing, part, trouble, place, role, year } = self;
        let (other_part, other_thing) = (random.pick(domain.parts), random.pick(domain.things));
        let (action, other_place) = (random.pick(domain.actions), random.pick(PLACES));
        let (quality, month, reason) = (random.pick(QUALITIES), random.pick(MONTHS), random.pick(REASONS));
        let (number, later) = (2 + random.below(90), year + 1 + random.below(12));
        match template {
            0 => format!("Its {part} is {quality}, and the {role} {action} at least {number} times a year."),
            1 => format!("In {month} {later} the {part} {trouble}, which no one had expected {reason}."),
            2 => format!("Visitors from {other_place} often compare it with the {other_thing} that they have at home."),
            3 => format!("A {quality} {other_part} was added in {later}, and it has {number} smaller ones beside it."),
            4 => format!("The {role} {action} before the {other_part} is used again, {reason}."),
            5 => format!("About {number} people in {place} depend on the {thing}, most of all in {month}."),
            6 => format!("When the {other_part} {trouble}, a second {role} came from {other_place} to help."),
            7 => format!("There is a {quality} report on the {part}, written by the {role} in {month} {later}."),
            8 => format!("Nothing about the {other_part} has changed {reason}, although it is {number} years old."),
            9 => format!("The {thing} costs less than a {quality} {other_thing}, but its {part} needs more care."),
            10 => format!("Every {month} the {role} {action}, and keeps a record of it for {number} months."),
            11 => format!("A {role} who had worked in {other_place} found that the {part} was too {quality}."),
            12 => format!("Since {later} the rule has been that no one touches the {part} without the {role}."),
            _ => format!("The {other_part} and the {part} were once made in {other_place}, {reason}."),
        }
    }
}
