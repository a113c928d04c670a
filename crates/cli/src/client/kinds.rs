//! Ids say what they are of: one that is given to a command for something else is answered with the right command.

use reqwest::Url;

use crate::failure::Failure;
use crate::output::plain;

/// What a resource of the API is asked for by: how its ids begin.
const RESOURCES: [(&str, &str); 5] = [
    ("executions", "exe_"),
    ("actions", "act_"),
    ("dead-letters", "act_"),
    ("jobs", "job_"),
    ("kill-switches", "swi_"),
];

/// How ids begin, what they are of, and the command for it.
const KINDS: [(&str, &str, &str); 6] = [
    ("exe_", "an execution", "sprag exec show"),
    ("act_", "an action", "sprag action show"),
    ("job_", "a job", "sprag job show"),
    ("att_", "an attempt", "sprag action list"),
    ("swi_", "a switch", "sprag switch list"),
    ("nod_", "a node", "sprag system"),
];

/// Says so where the id in a request's path is of another kind than the resource.
pub(super) fn mistaken(url: &Url) -> Result<(), Failure> {
    let mut segments = url
        .path_segments()
        .into_iter()
        .flatten()
        .skip_while(|part| *part != "v1")
        .skip(1);
    let (Some(resource), Some(id)) = (segments.next(), segments.next()) else {
        return Ok(());
    };
    let wanted = RESOURCES.iter().find(|(name, _)| *name == resource);
    let found = KINDS.iter().find(|(prefix, ..)| id.starts_with(prefix));
    match (wanted, found) {
        (Some((_, wanted)), Some((prefix, kind, command))) if wanted != prefix => {
            let id = plain(id);
            let helps = if command.ends_with("show") {
                format!("{command} {id}")
            } else {
                (*command).to_owned()
            };
            let failure = Failure::invalid(format!("`{id}` is the id of {kind}")).code("id-of-another-kind");
            Err(failure.note(format!("try `{helps}`; here an id begins with `{wanted}`")))
        }
        _ => Ok(()),
    }
}
