//! The redactor against the encoders that real programs use: `base64`, `url` and `serde_json`.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;
use sprag_core::text::redact::Redactor;
use url::Url;
use url::form_urlencoded::byte_serialize;

proptest! {
    #[test]
    fn no_encoder_hides_a_secret(secret in "\\PC{6,24}", before in "[ -~]{0,8}", after in "[ -~]{0,8}") {
        let redactor = Redactor::new([("crm_token", secret.as_str())]);
        let inner = format!("{before}{secret}{after}");
        let mut url = Url::parse("https://example.com/").unwrap();
        url.query_pairs_mut().append_pair("token", &secret);
        let mut path = Url::parse("https://example.com/").unwrap();
        path.path_segments_mut().unwrap().push(&format!("x{secret}x"));
        let texts = [
            STANDARD.encode(&inner),
            STANDARD_NO_PAD.encode(&inner),
            URL_SAFE.encode(&inner),
            URL_SAFE_NO_PAD.encode(&inner),
            byte_serialize(secret.as_bytes()).collect(),
            url.to_string(),
            path.to_string(),
            json!(secret).to_string(),
            json!(json!(secret).to_string()).to_string(),
        ];
        for text in texts {
            let masked = redactor.text(&text);
            prop_assert!(masked != text, "{:?} is left in {}", secret, text);
            prop_assert!(!masked.contains(&secret), "{:?} is left in {}", secret, masked);
        }
    }
}
