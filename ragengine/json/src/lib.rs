//! Reads JSON from untrusted clients. Values that are built in memory are bounded while they are read, and forwarded
//! values keep their original bytes.
//!
//! A `serde_json::Value` takes 72 bytes and an object several hundred, while their text has as few as two bytes: a body
//! of a few megabytes can become gigabytes. So values of any shape are read with [`Bounds`] and lists with
//! [`bounded_list`]. Objects to forward are not built: [`each_field`] and [`rewrite`] work on their text.
//! [`memory_bytes`] computes the memory of an object.

mod bounded;
mod fields;
mod list;
mod memory;
mod terse;

pub use bounded::{Bounds, Budget, OBJECT_WEIGHT, REPEATED_KEY, RepeatedKeys};
pub use fields::{Edit, each_field, rewrite};
pub use list::{bounded_list, each_item};
pub use memory::{allocated_bytes, json_bytes, memory_bytes};
pub use terse::Terse;
