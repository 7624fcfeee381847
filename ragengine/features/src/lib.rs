//! Nothing but its list of dependencies: Cargo.toml says what it is for.
