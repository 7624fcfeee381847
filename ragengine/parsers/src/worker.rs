//! A child process that reads one file after another, with a bound on its memory and its time. It ends when its parent does.
//!
//! The worker says that it is ready, and what it cannot do any more. The parent writes a request and the bytes of the file; the worker answers with
//! one line: the document, or why there is none. Files with rows, which make several, need no worker.

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
