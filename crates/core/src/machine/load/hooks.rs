//! Inbound webhooks, compiled.

use super::keys::HOOK;
use super::loader::Loader;
use crate::document::Fields;
use crate::document::source::Spot;
use crate::expression::template::Template;
use crate::machine::hook::{Hook, Verify};

impl<'n> Loader<'n> {
    /// Reads the hooks, in the order of the file. A hook that cannot be compiled is left out: the checks say why, when
    /// the machine is applied.
    pub(super) fn read_hooks(&mut self, root: &Fields<'n>) {
        for (name, member) in root.get("hooks").iter().flat_map(Spot::members) {
            let fields = Fields::new(member, &HOOK);
            self.machine.hooks.extend(compile(name, &fields));
            self.notes.hooks.push(fields);
        }
    }
}

fn compile(name: &str, fields: &Fields<'_>) -> Option<Hook> {
    let template = |spot: Spot<'_>| Template::compile(spot.value).ok();
    let secrets = fields.get("secret");
    Some(Hook {
        name: name.to_owned(),
        verify: Verify::of(fields.text("verify")?)?,
        secrets: secrets.iter().flat_map(Spot::each).filter_map(template).collect(),
        key: template(fields.get("key")?)?,
        kind: template(fields.get("type")?)?,
        payload: match fields.get("payload") {
            Some(payload) => Some(template(payload)?),
            None => None,
        },
    })
}
