//! `ragengine sync`

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use ragengine_client::Client;
use ragengine_client::wire::{self, SourceOwner};
use ragengine_parsers::{Parser, worker};
use ragengine_settings::Log;
use ragengine_settings::sync::{Origin, SyncTask};
use ragengine_sources::{Access, AddressPolicy, Limits, Proxies, ProxyVariables};
use ragengine_sync::{Outcome, Removed, Report, Tools, synchronise};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Sync, WhenOwnerIsGone};
use crate::secrets;
use crate::telemetry::logging;

/// Makes an index hold exactly what the sources of a task hold.
///
/// # Errors
///
/// When the task cannot be used, the server does not answer, or a source could not be synchronised.
pub fn run(arguments: &Sync) -> anyhow::Result<()> {
    logging::start(&Log::default()).map_err(anyhow::Error::msg)?;
    let task = read(&arguments.task)?;
    require(&task, arguments.sync_id.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            report = mirror(&task, arguments) => report,
            // The first process of a container ends only when it wants to.
            _ = terminate.recv() => bail!("it was told to stop before it was done; the next synchronisation finishes it"),
        }
    });
    // What a source is still waiting for is not waited for.
    runtime.shutdown_background();
    let report = report?;
    let mut out = io::stdout();
    for line in lines(&report) {
        writeln!(out, "{line}")?;
    }
    match report.is_success() {
        true => Ok(()),
        false => bail!("not every source could be synchronised"),
    }
}

async fn mirror(task: &SyncTask, arguments: &Sync) -> anyhow::Result<Report> {
    let mut tools = tools(task, arguments).await?;
    Ok(synchronise(task, owner(task, arguments).as_ref(), &mut tools).await?)
}

/// A task is done by whom it was written for: a file that was replaced meanwhile is another task.
fn require(task: &SyncTask, sync_id: Option<&str>) -> anyhow::Result<()> {
    match sync_id {
        Some(sync_id) if sync_id != task.sync_id => {
            bail!("the task is that of synchronisation '{}', and this is '{sync_id}': nothing was done", task.sync_id)
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

/// `ragengine parse-worker`: reads files for another process of this program.
///
/// # Errors
///
/// When its limits cannot be set, or the other process is gone.
pub fn parse_worker() -> anyhow::Result<()> {
    Ok(worker::serve(io::stdin(), io::stdout())?)
}

fn read(path: &Path) -> anyhow::Result<SyncTask> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the task {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("the task in {} cannot be used", path.display()))
}

async fn tools(task: &SyncTask, arguments: &Sync) -> anyhow::Result<Tools> {
    // Whatever proxy the environment names leads out of the cluster, as sources do.
    let client = Client::direct(&task.server)?;
    let client = match &task.write_token {
        Some(reference) => client.with_token(secrets::read(reference)?.expose())?,
        None => client,
    };
    let work_folder = arguments.work_folder.clone().unwrap_or_else(std::env::temp_dir);
    let addresses = AddressPolicy::in_cluster(task.allowed_ranges.clone(), arguments.api_server.clone()).await;
    let proxies = match Proxies::new(&ProxyVariables::of_environment()) {
        Err(error) if task.sources.iter().any(|source| is_elsewhere(&source.origin)) => return Err(error.into()),
        found => found.unwrap_or_default(),
    };
    let access = Access { addresses, proxies, work_folder, limits: Limits::default() };
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let command = worker::WorkerCommand { program, arguments: vec!["parse-worker".into()] };
    let parser = Parser::new(command, ragengine_parsers::Limits::default());
    Ok(Tools { client, access, parser })
}

/// Whether documents are fetched from another server.
fn is_elsewhere(origin: &Origin) -> bool {
    match origin {
        Origin::Http(_) | Origin::Git(_) | Origin::S3(_) => true,
        Origin::Inline(_) | Origin::ConfigMap(_) | Origin::Folder(_) => false,
    }
}

/// What a person wants to know of it.
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
        lines.push(format!("sources that are not named any more: {deleted} documents deleted"));
    }
    if *held_back > 0 {
        let how = confirmed_by(&confirmations.join(", "));
        lines.push(format!("sources that are not named any more: {held_back} documents held back ({how})"));
    }
    lines
}

fn confirmed_by(confirmations: &str) -> String {
    format!("confirmations: [{confirmations}] in the task lets them go")
}

fn in_words(outcome: &Outcome) -> String {
    let Outcome { sent, deleted, held_back, confirmation, errors } = outcome;
    let held_back = match confirmation {
        None => String::new(),
        Some(word) => {
            format!(", {held_back} held back: the source or a file of it may be broken ({})", confirmed_by(word))
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
    fn what_was_done_is_said_in_words() {
        let fine = Outcome { sent: 3, deleted: 1, held_back: 0, confirmation: None, errors: 0 };
        let held = Outcome { held_back: 7, confirmation: Some("faq@0123456789ab".into()), ..fine.clone() };
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
