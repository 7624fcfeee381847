use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Kills the process of this program in a pod. Fails unless there is exactly one.
pub fn kill(pod_uid: &str, program: &str) -> anyhow::Result<Value> {
    let processes = processes().context("reading /proc")?;
    let found: Vec<Pid> = processes.into_iter().filter(|pid| is_program_of(*pid, pod_uid, program)).collect();
    let [pid] = found[..] else {
        bail!("{} processes of the pod {pod_uid} have the program {program}; one was expected", found.len());
    };
    kill_process(pid, Signal::KILL).with_context(|| format!("killing process {pid:?}"))?;
    Ok(json!({"pid": pid.as_raw_nonzero()}))
}

fn processes() -> std::io::Result<Vec<Pid>> {
    let entries = fs::read_dir("/proc")?.collect::<Result<Vec<_>, _>>()?;
    let numbers = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(Pid::from_raw).collect())
}

/// A process that ends during the check does not match.
fn is_program_of(pid: Pid, pod_uid: &str, program: &str) -> bool {
    let folder = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    read("comm").trim_end() == program && is_of_pod(&read("cgroup"), pod_uid)
}

/// The name of a pod's control group contains the pod's uid. systemd writes `_` instead of `-`.
fn is_of_pod(cgroup: &str, pod_uid: &str) -> bool {
    cgroup.contains(pod_uid) || cgroup.contains(&pod_uid.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "2f1c2c9e-6a0b-4c2b-9f6e-3d1f6a4e0b11";

    #[test]
    fn a_pod_is_found_by_its_control_group() {
        let under =
            "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod";
        for (cgroup, is_its) in [
            (format!("0::/{under}{}.slice/cri-containerd-0123.scope\n", UID.replace('-', "_")), true),
            (format!("0::/../../pod{UID}/0123\n"), true),
            (format!("12:memory:/kubepods/burstable/pod{UID}/0123\n0::/\n"), true),
            (format!("0::/{under}{}.slice/x.scope\n", UID.replace('-', "_").replace('f', "e")), false),
            ("0::/system.slice/containerd.service\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_of_pod(&cgroup, UID), is_its, "{cgroup}");
        }
    }

    #[test]
    fn a_pod_that_is_not_there_has_no_process_to_kill() {
        let error = kill(UID, "ragengine").unwrap_err().to_string();
        assert!(error.starts_with("0 processes"), "{error}");
    }
}
