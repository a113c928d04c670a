//! Sections whose entries the operator names: `[services.crm]`, `[chains.base]`, `[signers.issuer]`.
//!
//! Only the file can hold them: an environment variable cannot contain the name of an entry without ambiguity.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};
use sprag_core::document::Shape::{self, Open, Text, Whole};
use sprag_runners::api_call;
use sprag_runners::mint::{ChainOptions, ContractOptions, Options, SignerOptions};

use super::layers::Place;

/// A section of named entries.
#[derive(Debug)]
pub(super) struct Section {
    /// `chains` of `[chains.base]`.
    pub(super) name: &'static str,
    /// `base`.
    example: &'static str,
    /// What an entry is, one comment line each.
    about: &'static [&'static str],
    /// Its keys.
    pub(super) keys: &'static [Key],
}

/// A key of a named entry.
#[derive(Debug)]
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) shape: Shape,
    /// Whether an entry can do without it.
    pub(super) need: Need,
    /// How it could look, as TOML.
    pub(super) example: &'static str,
    about: &'static str,
}

/// Whether an entry can do without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It cannot.
    Required,
    /// It can.
    Optional,
}

/// Sections by name, each with an example and a line about it, then its keys: shape, example and what each is for.
macro_rules! sections {
    ($($section:literal such as $entry:literal, $purpose:literal {
        $($need:ident $name:literal: $shape:expr, $example:literal => $about:literal;)+
    })+) => {
        &[$(Section {
            name: $section,
            example: $entry,
            about: &[$purpose],
            keys: &[$(Key {
                name: $name,
                shape: $shape,
                need: Need::$need,
                example: $example,
                about: $about,
            }),+],
        }),+]
    };
}

/// All of them, in the order in which they are printed.
pub(super) static SECTIONS: &[Section] = sections! {
    "services" such as "crm", "A service for `api_call` actions, which name it in `service`." {
        Required "baseUrl": Text, "\"https://crm.example.com/api\""
            => "The address. An action adds only path and query. May contain `{{secrets.NAME}}`.";
        Optional "headers": Open, "{ X-Tenant = \"acme\" }"
            => "Headers of every call. An action can override them.";
        Optional "timeout": Whole { least: 1, most: 86_400_000 }, "10000"
            => "Milliseconds for a call. The shorter of this and the action's timeout applies.";
        Optional "authentication": Open, "{ type = \"bearer\", token = \"{{secrets.crm_token}}\" }"
            => "The credentials of calls: `none`, `basic`, `bearer`, `apiKey` or `oauth2`.";
    }
    "chains" such as "base", "An EVM chain for `blockchain_mint` actions, which name it in `network`." {
        Required "rpc": Text, "\"https://mainnet.base.org\""
            => "The URL of its node. May contain `{{secrets.NAME}}`.";
        Optional "chainId": Whole { least: 1, most: u64::MAX }, "8453"
            => "The id of the chain. Sprag signs for no other.";
        Optional "confirmations": Whole { least: 1, most: 1_000 }, "1"
            => "The number of blocks that confirm a transaction.";
        Optional "bumpAfterSeconds": Whole { least: 1, most: 86_400 }, "30"
            => "If a transaction is not mined after this time, Sprag raises its fee.";
        Optional "maxFeePerGas": Text, "\"50 gwei\""
            => "The highest fee per unit of gas.";
    }
    "signers" such as "issuer", "A signer of transactions." {
        Required "key": Text, "\"{{secrets.issuer_key}}\""
            => "The secret with the private key.";
        Optional "unclaimed": Text, "\"replace\""
            => "If a pending transaction that no action owns blocks an action: `replace` it, or `wait`.";
    }
    "contracts" such as "certificates", "A contract. Actions name it, or its network and address." {
        Required "chain": Text, "\"base\""
            => "The chain of the contract.";
        Required "address": Text, "\"0x0000000000000000000000000000000000000000\""
            => "The address on the chain.";
        Required "abi": Text, "\"certificates.json\""
            => "A file with its ABI, or the ABI as JSON.";
        Optional "signer": Text, "\"issuer\""
            => "The signer, if the action sets none.";
    }
};

/// The section of that name.
pub(super) fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// The entries as comments, ready to be made true.
pub(super) fn print(text: &mut String) {
    for Section {
        name,
        example,
        about,
        keys,
    } in SECTIONS
    {
        text.push('\n');
        // Writing to a text cannot fail.
        for line in *about {
            let _ = writeln!(text, "# {line}");
        }
        let _ = writeln!(text, "# [{name}.{example}]");
        for key in *keys {
            let _ = writeln!(text, "# {} = {} # {}", key.name, key.example, key.about);
        }
    }
}

/// The same for programs, each under the name of its example in angle brackets: `chains.<base>`.
pub(super) fn describe(sections: &mut Map<String, Json>) {
    for section in SECTIONS {
        let key = |key: &Key| {
            let described = json!({"required": key.need == Need::Required, "example": key.example, "about": key.about});
            (key.name.to_owned(), described)
        };
        let name = format!("{}.<{}>", section.name, section.example);
        sections.insert(name, section.keys.iter().map(key).collect());
    }
}

/// One entry as it was written.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) values: BTreeMap<&'static str, (Json, Place)>,
}

impl Entry {
    fn value(&self, key: &str) -> Option<&Json> {
        self.values.get(key).map(|(value, _)| value)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(str::to_owned)
    }

    fn whole(&self, key: &str) -> Option<u64> {
        self.value(key)?.as_u64()
    }

    fn table(&self, key: &str) -> Option<Map<String, Json>> {
        self.value(key)?.as_object().cloned()
    }
}

/// All entries, by section and name.
#[derive(Debug, Default)]
pub(super) struct Entries(pub(super) BTreeMap<(&'static str, String), Entry>);

impl Entries {
    /// Where a key was written, or the entry that lacks it.
    pub(super) fn place(&self, section: &str, name: &str, key: &str) -> Option<Place> {
        let (_, entry) = self.0.iter().find(|((of, named), _)| *of == section && named == name)?;
        Some(entry.values.get(key).map_or(&entry.place, |(_, place)| place).clone())
    }

    fn of(&self, section: &'static str) -> impl Iterator<Item = (String, &Entry)> {
        let entries = self.0.iter().filter(move |((of, _), _)| *of == section);
        entries.map(|((_, name), entry)| (name.clone(), entry))
    }

    /// What `api_call` is told.
    pub(super) fn api_call(&self) -> api_call::Options {
        let service = |entry: &Entry| api_call::ServiceOptions {
            base_url: entry.text("baseUrl").unwrap_or_default(),
            headers: entry.table("headers").unwrap_or_default(),
            timeout: entry.whole("timeout"),
            authentication: entry.table("authentication"),
        };
        api_call::Options {
            services: self
                .of("services")
                .map(|(name, entry)| (name, service(entry)))
                .collect(),
        }
    }

    /// What `blockchain_mint` is told.
    pub(super) fn mint(&self) -> Options {
        let chain = |entry: &Entry| ChainOptions {
            rpc: entry.text("rpc").unwrap_or_default(),
            chain_id: entry.whole("chainId"),
            confirmations: entry.whole("confirmations"),
            bump_after_seconds: entry.whole("bumpAfterSeconds"),
            max_fee_per_gas: entry.text("maxFeePerGas"),
        };
        let signer = |entry: &Entry| SignerOptions {
            key: entry.text("key").unwrap_or_default(),
            unclaimed: entry.text("unclaimed"),
        };
        let contract = |entry: &Entry| ContractOptions {
            chain: entry.text("chain").unwrap_or_default(),
            address: entry.text("address").unwrap_or_default(),
            abi: entry.text("abi").unwrap_or_default(),
            signer: entry.text("signer"),
        };
        Options {
            chains: self.of("chains").map(|(name, entry)| (name, chain(entry))).collect(),
            signers: self.of("signers").map(|(name, entry)| (name, signer(entry))).collect(),
            contracts: self
                .of("contracts")
                .map(|(name, entry)| (name, contract(entry)))
                .collect(),
        }
    }
}
