use crate::name::check_name;

/// The kind of an archive's entry, derived from its name. Names are only compared, never used as paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// `ragengine.json`
    Manifest,
    /// `indexes/NAME/index.json`
    Header(String),
    /// `indexes/NAME/00000001`: a block of rows, numbered from 1.
    Block(String, u32),
    /// `end.json`
    End,
}

impl Entry {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Manifest => "ragengine.json".to_owned(),
            Self::Header(index) => format!("indexes/{index}/index.json"),
            Self::Block(index, number) => format!("indexes/{index}/{number:08}"),
            Self::End => "end.json".to_owned(),
        }
    }

    /// Parses a name. None if no entry has it.
    pub(super) fn parse(name: &[u8]) -> Option<Self> {
        let name = str::from_utf8(name).ok()?;
        let entry = match name {
            "ragengine.json" => Self::Manifest,
            "end.json" => Self::End,
            name => {
                let (index, rest) = name.strip_prefix("indexes/")?.split_once('/')?;
                check_name(index).ok()?;
                match rest {
                    "index.json" => Self::Header(index.to_owned()),
                    number => Self::Block(index.to_owned(), number.parse().ok()?),
                }
            }
        };
        // Each entry has exactly one name: `indexes/a/+1` is rejected.
        (entry.name() == name).then_some(entry)
    }
}
