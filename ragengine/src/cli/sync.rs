//! `ragengine sync`

use std::io::{self, Write as _};

use anyhow::{Context as _, bail};
use ragengine_client::wire::{self, SourceOwner};
use ragengine_parsers::{Parser, worker};
use ragengine_settings::Log;
use ragengine_settings::sync::{Origin, SyncTask};
use ragengine_sources::{Access, AddressPolicy, Limits, Proxies, ProxyVariables};
use ragengine_sync::{Removed, Report, SyncOutcome, Tools, synchronise};
use tokio::signal::unix::{SignalKind, signal};

use super::connect::{client_of_task, read_task};
use crate::args::{Sync, WhenOwnerIsGone};
use crate::telemetry::logging;

/// Makes an index hold exactly the documents of a task's sources.
///
/// # Errors
///
/// When the task is invalid, the server does not answer, or a source could not be synchronised.
pub fn run(arguments: &Sync) -> anyhow::Result<()> {
    logging::start(&Log::default()).map_err(anyhow::Error::msg)?;
    let task: SyncTask = read_task(&arguments.task)?;
    task.check_names().with_context(|| format!("the task in {} is invalid", arguments.task.display()))?;
    require(&task, arguments.sync_id.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            report = mirror(&task, arguments) => report,
            // As process 1 of a container, the program must handle SIGTERM: there is no default action.
            _ = terminate.recv() => bail!("stopped by SIGTERM before the end; the next synchronisation completes it"),
        }
    });
    // Does not wait for requests to sources that are still running.
    runtime.shutdown_background();
    let report = report?;
    let mut out = io::stdout();
    for line in lines(&report) {
        writeln!(out, "{line}")?;
    }
    if !report.is_success() {
        bail!("some sources could not be synchronised");
    }
    Ok(())
}

async fn mirror(task: &SyncTask, arguments: &Sync) -> anyhow::Result<Report> {
    let mut tools = tools(task, arguments).await?;
    Ok(synchronise(task, owner(task, arguments).as_ref(), &mut tools).await?)
}

/// Fails if the task has another id: its file was replaced after this process was started.
fn require(task: &SyncTask, sync_id: Option<&str>) -> anyhow::Result<()> {
    match sync_id {
        Some(sync_id) if sync_id != task.sync_id => {
            bail!("the task has the id '{}', expected '{sync_id}': nothing was synchronised", task.sync_id)
        }
        _ => Ok(()),
    }
}

fn owner(task: &SyncTask, arguments: &Sync) -> Option<SourceOwner> {
    Some(SourceOwner {
        name: task.owner.clone(),
        uid: arguments.owner_uid.clone()?,
        scope: arguments.owner_scope.clone(),
        when_gone: match arguments.when_owner_is_gone {
            WhenOwnerIsGone::Delete => wire::WhenOwnerIsGone::Delete,
            WhenOwnerIsGone::Retain => wire::WhenOwnerIsGone::Retain,
        },
    })
}

/// `ragengine parse-worker`: parses files for `ragengine sync`.
///
/// # Errors
///
/// When the resource limits cannot be set, or the parent process has ended.
pub fn parse_worker() -> anyhow::Result<()> {
    Ok(worker::serve(io::stdin(), io::stdout())?)
}

async fn tools(task: &SyncTask, arguments: &Sync) -> anyhow::Result<Tools> {
    let client = client_of_task(&task.server, &task.server_ca_files, task.write_token.as_ref())?;
    let work_folder = arguments.work_folder.clone().unwrap_or_else(std::env::temp_dir);
    let addresses = AddressPolicy::in_cluster(task.allowed_ranges.clone(), arguments.api_server.clone()).await;
    let proxies = match Proxies::new(&ProxyVariables::of_environment()) {
        Err(error) if task.sources.iter().any(|source| is_remote(&source.origin)) => return Err(error.into()),
        found => found.unwrap_or_default(),
    };
    let mounts = arguments.mounts_folder.clone();
    let access = Access { addresses, proxies, work_folder, mounts, limits: Limits::default() };
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let command = worker::WorkerCommand { program, arguments: vec!["parse-worker".into()] };
    let parser = Parser::new(command, ragengine_parsers::Limits::default());
    Ok(Tools { client, access, parser })
}

/// Whether documents are fetched over the network.
fn is_remote(origin: &Origin) -> bool {
    match origin {
        Origin::Http(_) | Origin::Git(_) | Origin::S3(_) => true,
        Origin::Inline(_) | Origin::ConfigMap(_) | Origin::Folder(_) => false,
    }
}

/// The report as lines of text.
fn lines(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report
        .sources
        .iter()
        .map(|(source, outcome)| match outcome {
            Ok(outcome) => format!("{source}: {}", in_words(outcome)),
            Err(error) => format!("{source}: not synchronised: {error}"),
        })
        .collect();
    let Removed { deleted, held_back, confirmations } = &report.removed;
    if *deleted > 0 {
        lines.push(format!("removed sources: {deleted} documents deleted"));
    }
    if *held_back > 0 {
        let how = confirmed_by(&confirmations.join(", "));
        lines.push(format!("removed sources: {held_back} documents held back ({how})"));
    }
    lines
}

fn confirmed_by(confirmations: &str) -> String {
    format!("confirmations: [{confirmations}] in the task deletes them")
}

fn in_words(outcome: &SyncOutcome) -> String {
    let SyncOutcome { sent, deleted, held_back, confirmation, errors } = outcome;
    let held_back = match confirmation {
        None => String::new(),
        Some(word) => {
            format!(", {held_back} held back: the source or one of its files may be broken ({})", confirmed_by(word))
        }
    };
    format!("{sent} sent, {deleted} deleted, {errors} files with errors{held_back}")
}

#[cfg(test)]
mod tests {
    use ragengine_client::ClientError;
    use ragengine_sync::SyncError;

    use super::*;

    #[test]
    fn a_report_is_printed_line_by_line() {
        let fine = SyncOutcome { sent: 3, deleted: 1, held_back: 0, confirmation: None, errors: 0 };
        let held = SyncOutcome { held_back: 7, confirmation: Some("faq@0123456789ab".into()), ..fine.clone() };
        let report = Report {
            sources: vec![
                ("site".into(), Ok(fine)),
                ("faq".into(), Ok(held)),
                ("wiki".into(), Err(SyncError::Server(ClientError::Token))),
            ],
            removed: Removed { deleted: 2, held_back: 5, confirmations: vec!["old@ab".into()] },
        };
        assert_eq!(lines(&report)[0], "site: 3 sent, 1 deleted, 0 files with errors");
        assert!(lines(&report)[1].contains("7 held back") && lines(&report)[1].contains("[faq@0123456789ab]"));
        assert!(lines(&report)[2].starts_with("wiki: not synchronised"));
        assert!(lines(&report)[3].contains("2 documents deleted"));
        assert!(lines(&report)[4].contains("5 documents held back") && lines(&report)[4].contains("[old@ab]"));
        assert!(!report.is_success());
    }
}
