//! The steps of a reconcile without a cluster: the pure ones from YAML to objects and conditions, and the whole controller against an API
//! server that fails on purpose.

mod every_field;
mod fixture;
mod invalid;
mod objects;
mod settings_file;
