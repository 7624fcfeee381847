//! A child process that parses files in turn, with limited memory and time. It ends when its parent ends.
//!
//! At start the worker reports that it is ready, and its restrictions. For each file the parent sends a request and the
//! bytes, and the worker replies with one line: the document or an error. Files with rows, which have several
//! documents, need no worker.

mod child;
mod confinement;
mod memory;
mod notice;
mod outgoing;
mod process;
mod protocol;
mod serve;

pub(crate) use child::{Exchange, Worker};
pub use confinement::Confinement;
pub(crate) use notice::warn_once;
pub use process::WorkerCommand;
pub use serve::serve;
