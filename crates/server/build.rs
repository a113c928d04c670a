//! Builds the crate again when the web interface was built again: it is part of a release.
//!
//! Other builds read `ui/dist` while they run, so a new interface does not build them again.

fn main() {
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let part = if is_release { "../../ui/dist" } else { "build.rs" };
    println!("cargo:rerun-if-changed={part}");
}
