//! The program `ragengine`. Its commands are in [`ragengine::args`].

use std::process::ExitCode;

use clap::Parser as _;
use ragengine::args::{Arguments, Command};
use ragengine::cli;
use ragengine_index::private;

// jemalloc scales with threads of several pools, and returns memory to the system after an ingest.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    private::make_everything_private();
    let arguments = Arguments::parse();
    if let Err(error) = run(arguments.command) {
        eprintln!("ragengine: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(command: Command) -> anyhow::Result<()> {
    // rustls needs a cryptography provider before the first connection. A second install is an error, which is ignored.
    drop(rustls::crypto::ring::default_provider().install_default());
    match command {
        Command::Serve(file) => cli::serve::run(file.config.as_deref()),
        Command::Ingest(ingest) => cli::ingest::run(&ingest),
        Command::Import(import) => cli::import::run(&import),
        Command::Eval(eval) => cli::eval::run(&eval),
        Command::Backup(backup) => cli::backup::run(&backup),
        Command::Restore(restore) => cli::restore::run(&restore),
        Command::Migrate(migrate) => cli::migrate::run(&migrate),
        Command::Sync(sync) => cli::sync::run(&sync),
        Command::ParseWorker => cli::sync::parse_worker(),
        Command::CheckConfig(file) => cli::print::check_config(file.config.as_deref()),
        Command::Openapi => cli::print::openapi(),
        Command::SettingsReference => cli::print::settings_reference(),
        Command::MetricsReference => cli::print::metrics_reference(),
    }
}
