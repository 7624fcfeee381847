/// Vocabulary of one subject area.
pub struct Domain {
    /// Subjects of documents.
    pub things: &'static [&'static str],
    /// Parts of these things.
    pub parts: &'static [&'static str],
    /// Activities of the people who work there.
    pub actions: &'static [&'static str],
    /// Failures of parts.
    pub troubles: &'static [&'static str],
}

pub const DOMAINS: &[Domain] = &[
    Domain {
        things: &["water mill", "pumping station", "canal lock", "drinking fountain", "reservoir", "sewage plant"],
        parts: &["intake filter", "main valve", "overflow channel", "pressure gauge", "wooden gate", "settling tank"],
        actions: &["drains the basin", "measures the flow", "tightens the seals", "clears the grate of leaves"],
        troubles: &["began to leak", "was blocked by ice", "filled with sand", "cracked under pressure"],
    },
    Domain {
        things: &["tram line", "railway bridge", "night train", "freight depot", "signal box", "mountain railway"],
        parts: &["overhead wire", "brake system", "ticket office", "turntable", "timetable", "level crossing"],
        actions: &["inspects the rails", "replaces the worn bolts", "tests the signals", "counts the passengers"],
        troubles: &["failed in the heat", "was hit by a lorry", "ran two hours late", "rusted through"],
    },
    Domain {
        things: &["city hospital", "children's clinic", "blood bank", "pharmacy", "ambulance service", "nursing home"],
        parts: &["waiting room", "operating theatre", "cold store", "patient register", "laboratory", "night shift"],
        actions: &["checks every dose", "washes the instruments", "calls the relatives", "reviews the charts"],
        troubles: &["was short of nurses", "lost its power", "had to be closed", "was full for a week"],
    },
    Domain {
        things: &["apple orchard", "dairy farm", "vineyard", "sheep pasture", "greenhouse", "barley field"],
        parts: &["irrigation ditch", "south slope", "milking parlour", "old barn", "young trees", "tool shed"],
        actions: &["prunes the branches", "feeds the animals", "turns the soil", "sorts the harvest by hand"],
        troubles: &["suffered from frost", "was eaten by deer", "flooded after a storm", "caught a disease"],
    },
    Domain {
        things: &["public library", "national archive", "map collection", "reading club", "bookshop", "printing house"],
        parts: &["card catalogue", "lending desk", "rare books room", "paper stock", "index of names", "upper gallery"],
        actions: &["repairs the bindings", "answers letters", "copies the oldest pages", "orders new titles"],
        troubles: &["grew mould", "was put in the wrong order", "was lost in a fire", "outgrew its shelves"],
    },
    Domain {
        things: &["wind farm", "power plant", "solar roof", "transformer station", "battery store", "district heating"],
        parts: &["control room", "cooling tower", "rotor blade", "copper cable", "backup generator", "steam turbine"],
        actions: &["reads the meters", "lowers the output", "oils the bearings", "trains the new operators"],
        troubles: &["overheated", "was struck by lightning", "made a loud noise", "switched itself off"],
    },
    Domain {
        things: &["chamber orchestra", "opera house", "village choir", "music school", "church organ", "jazz festival"],
        parts: &["rehearsal hall", "string section", "stage curtain", "lowest pipe", "box office", "sheet music"],
        actions: &["tunes the instruments", "chooses the programme", "teaches beginners", "copies the parts"],
        troubles: &["went out of tune", "was stolen on tour", "tore in two", "fell silent during a concert"],
    },
    Domain {
        things: &["fishing harbour", "lighthouse", "ferry", "shipyard", "lifeboat station", "oyster bank"],
        parts: &["stone pier", "diesel engine", "fog horn", "dry dock", "anchor chain", "radio mast"],
        actions: &["scrapes the hull", "watches the tide", "mends the nets", "paints the rails white"],
        troubles: &["sank in a gale", "was covered in weed", "broke at low water", "could not be heard"],
    },
    Domain {
        things: &["weather station", "observatory", "seed bank", "wildlife reserve", "glacier camp", "bird sanctuary"],
        parts: &["rain gauge", "main telescope", "freezer", "ranger hut", "dome", "sample archive"],
        actions: &["records the temperature", "counts the nests", "labels the samples", "calibrates the sensors"],
        troubles: &["gave wrong readings", "was buried in snow", "was damaged by wind", "attracted foxes"],
    },
    Domain {
        things: &["savings bank", "insurance office", "tax bureau", "food market", "flower auction", "cooperative"],
        parts: &["loan department", "yearly budget", "counting machine", "price board", "main hall", "customer file"],
        actions: &["compares the accounts", "signs the contracts", "sets the price", "answers complaints"],
        troubles: &["showed a loss", "did not add up", "was rejected twice", "disappeared from the records"],
    },
];

pub const PLACES: &[&str] = &[
    "Aberdeen",
    "Bergen",
    "Cordoba",
    "Dresden",
    "Evora",
    "Florence",
    "Geneva",
    "Halifax",
    "Innsbruck",
    "Jena",
    "Kyoto",
    "Lima",
    "Marseille",
    "Nairobi",
    "Oslo",
    "Porto",
    "Quebec",
    "Riga",
    "Salzburg",
    "Toledo",
    "Utrecht",
    "Valencia",
    "Warsaw",
    "York",
    "Zurich",
    "Adelaide",
    "Bristol",
    "Calgary",
    "Denver",
    "Edinburgh",
    "Ghent",
    "Helsinki",
];

pub const ROLES: &[&str] = &[
    "engineer",
    "caretaker",
    "director",
    "inspector",
    "technician",
    "foreman",
    "apprentice",
    "supervisor",
    "secretary",
    "volunteer",
    "manager",
    "specialist",
];

pub const QUALITIES: &[&str] = &[
    "old",
    "narrow",
    "reliable",
    "noisy",
    "modern",
    "famous",
    "heavy",
    "simple",
    "expensive",
    "delicate",
    "large",
    "unusual",
    "careful",
    "small",
    "detailed",
    "temporary",
];

pub const MONTHS: &[&str] = &[
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub const REASONS: &[&str] = &[
    "because the winter had been mild",
    "since the money was needed elsewhere",
    "as the law demands",
    "because a spare could not be found",
    "although the neighbours complained",
    "since the last owner retired",
    "because of the strike",
    "as long as anybody can remember",
    "although two experts had warned of it",
    "because the documents were missing",
];
