//! Which filesystem a directory is on. Network filesystems are refused: their locks and flushes cannot be trusted.

use std::io;
use std::path::Path;

/// The kind of network filesystem that `directory` is on, if it is on one.
#[cfg(target_os = "linux")]
pub(super) fn network_kind(directory: &Path) -> io::Result<Option<String>> {
    let magic = rustix::fs::statfs(directory)?.f_type;
    let magic = u64::try_from(magic).unwrap_or_default() & u64::from(u32::MAX);
    if magic != FUSE_MAGIC {
        return Ok(kernel_kind(magic).map(str::to_owned));
    }
    let device = rustix::fs::stat(directory)?.st_dev;
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    Ok(mount_kind(&mounts, &device)
        .filter(|kind| is_network_fuse(kind))
        .map(str::to_owned))
}

/// Elsewhere the kinds are not known, and nothing is refused.
#[cfg(not(target_os = "linux"))]
pub(super) fn network_kind(_directory: &Path) -> io::Result<Option<String>> {
    Ok(None)
}

const FUSE_MAGIC: u64 = 0x6573_5546;

/// The network filesystems that the kernel speaks itself, by the number `statfs` gives.
const KERNEL_KINDS: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xfe53_4d42, "smb2"),
    (0xff53_4d42, "cifs"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x00c3_6400, "ceph"),
    (0x7375_7245, "coda"),
    (0x564c, "ncp"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
];

/// The network filesystems among those that user programs serve. Others, such as an encrypted directory, are local.
const FUSE_KINDS: &[&str] = &[
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.curlftpfs",
    "fuse.davfs",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.juicefs",
    "fuse.mount-s3",
    "fuse.mountpoint-s3",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.seaweedfs",
    "fuse.smbnetfs",
    "fuse.sshfs",
];

fn kernel_kind(magic: u64) -> Option<&'static str> {
    KERNEL_KINDS
        .iter()
        .find(|(known, _)| *known == magic)
        .map(|(_, kind)| *kind)
}

fn is_network_fuse(kind: &str) -> bool {
    FUSE_KINDS.contains(&kind)
}

/// The kind of the filesystem with this device number, from the text of `/proc/self/mountinfo`: the third field is the
/// device, the field after the lone dash the kind.
fn mount_kind<'a>(mounts: &'a str, device: &str) -> Option<&'a str> {
    mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(device))
        .and_then(|line| line.split_once(" - "))
        .and_then(|(_, kind)| kind.split(' ').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 22 0:52 / /mnt/far rw,nosuid - fuse.sshfs host:/data rw,user_id=0\n\
        41 22 0:53 / /mnt/near rw,nosuid shared:4 master:2 - fuse.gocryptfs /cipher rw\n";

    #[test]
    fn a_local_directory_is_not_on_a_network() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(network_kind(directory.path()).unwrap(), None);
    }

    #[test]
    fn the_kinds_the_kernel_speaks_are_known_by_number() {
        assert_eq!(kernel_kind(0x6969), Some("nfs"));
        assert_eq!(kernel_kind(0xff53_4d42), Some("cifs"));
        assert_eq!(kernel_kind(0xef53), None, "ext4 is local");
    }

    #[test]
    fn a_filesystem_served_by_a_program_is_known_by_its_mount() {
        assert_eq!(mount_kind(MOUNTS, "0:52"), Some("fuse.sshfs"));
        assert!(is_network_fuse("fuse.sshfs"));
        assert_eq!(mount_kind(MOUNTS, "0:53"), Some("fuse.gocryptfs"));
        assert!(!is_network_fuse("fuse.gocryptfs"));
        assert_eq!(mount_kind(MOUNTS, "0:99"), None);
    }
}
