//! The example runs, and says what its README says.

use std::process::Command;

#[test]
fn the_parcel_is_booked_at_the_second_attempt() {
    let ended = Command::new(env!("CARGO_BIN_EXE_sprag-embedding")).output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(ended.status.success(), "{stderr}");
    assert!(stdout.contains(r#"waits in ["packed"]"#), "{stdout}");
    let last = stdout.lines().last();
    assert_eq!(
        last,
        Some("a courier to Ada, Berlin is booked for 510 cents, at attempt 2")
    );
}
