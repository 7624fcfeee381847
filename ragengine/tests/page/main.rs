//! Tests of the chat page and of the API reference in Chromium, on a server in this process with the real embedding
//! model. The language model is scripted.
//!
//! `RAGENGINE_SCREENSHOTS=folder` lets the test `screenshots` write its pictures there.

#![expect(clippy::unwrap_used, reason = "tests")]

mod accessibility;
mod browser;
mod choices;
mod conversation;
mod failures;
mod feedback;
mod keyboard;
mod long;
mod model;
mod narrow;
mod reference;
mod reports;
mod screenshots;
mod scripts;
mod sign_in;
mod site;
mod steps;
mod stop;
#[path = "../server/support.rs"]
#[expect(dead_code, reason = "the tests of the API use the rest")]
mod support;
mod tabs;
mod unavailable;
mod upload;
