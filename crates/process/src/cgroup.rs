//! Control groups: a process cannot leave its group by itself.
//!
//! They complement marks and process groups. If the hierarchy is not version 2, is not writable, or has no
//! `cgroup.kill`, this module creates no group.

use std::fs;
use std::path::{Path, PathBuf};

/// A control group of this name below that of the supervisor, made if it can be.
pub fn create(name: &str) -> Option<PathBuf> {
    let group = own()?.join(format!("sprag-{name}"));
    // It may be there already, from an earlier start.
    let _ = fs::create_dir(&group);
    group.join("cgroup.kill").exists().then_some(group)
}

/// The file that moves a process into the group when its id is written there.
pub fn door(group: &Path) -> PathBuf {
    group.join("cgroup.procs")
}

/// Puts a process into it, where it has not gone in by itself. Whether that went well.
pub fn enter(group: &Path, pid: i32) -> bool {
    fs::write(door(group), pid.to_string()).is_ok()
}

/// The processes in it.
pub fn members(group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(door(group)).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills everything in it, at once.
pub fn kill(group: &Path) {
    // A group that is gone has no process left.
    let _ = fs::write(group.join("cgroup.kill"), "1");
}

/// Takes it away once it is empty.
pub fn remove(group: &Path) {
    let _ = fs::remove_dir(group);
}

/// The control group of this process, in the hierarchy of version 2.
fn own() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then(|| place.split(' ').nth(4))?
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(path))
}
