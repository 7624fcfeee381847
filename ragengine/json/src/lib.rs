//! Reading JSON that strangers send: what is built in memory is bounded while it is read, and what is only forwarded stays the bytes
//! that came.
//!
//! A `serde_json::Value` takes 72 bytes and an object several hundred, where the text has two or seven: a body of a few megabytes
//! becomes gigabytes. So a value of any shape is read within [`Bounds`], a list by [`bounded_list`], and an object that is passed on is
//! never built: [`each_field`] and [`rewrite`] go over its text. [`memory_bytes`] says what many objects take together.

mod bounded;
mod fields;
mod list;
mod memory;
mod terse;

pub use bounded::{Bounds, Budget, OBJECT_WEIGHT};
pub use fields::{Edit, each_field, rewrite};
pub use list::{bounded_list, each_item};
pub use memory::{allocated_bytes, json_bytes, memory_bytes};
pub use terse::Terse;
