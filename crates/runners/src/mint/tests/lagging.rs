//! A node that counts a transaction before it shows it. Whoever takes "counted, and not to be seen" for "used by
//! another" mints twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use sprag_tests::chain::ISSUER;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::{World, case, config, options, runner_of};
use crate::http::{Client, Request};
use crate::testing::{client, read, result};

/// What the node shows late.
#[derive(Clone, Copy, Debug)]
enum Late {
    /// Receipts alone: the block and its transactions are there.
    Receipts,
    /// Receipts and transactions: the block names a transaction that nobody can look up.
    Transactions,
    /// All of it: the block is counted, and still empty.
    Blocks,
}

/// Stands before a real node and passes everything on, except that its first answers show nothing that was mined.
#[derive(Clone)]
struct Lagging {
    node: Url,
    client: Client,
    late: Late,
    /// Questions that are still answered so.
    left: Arc<AtomicUsize>,
}

impl Lagging {
    /// The URL of a node that is so many answers behind `node`.
    async fn start(node: &str, late: Late, answers: usize) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let lagging = Self {
            node: node.parse().unwrap(),
            client: client(),
            late,
            left: Arc::new(AtomicUsize::new(answers)),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(lagging.clone().serve(stream));
            }
        });
        url
    }

    async fn serve(self, mut stream: TcpStream) {
        while let Some(received) = read(&mut stream).await {
            let question: Value = serde_json::from_slice(&received.body).unwrap();
            let mut answer = self.pass(received.body).await;
            self.hide(&question, &mut answer);
            let body = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            if stream.write_all((head + &body).as_bytes()).await.is_err() {
                return;
            }
        }
    }

    async fn pass(&self, body: Vec<u8>) -> Value {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "application/json".parse().unwrap());
        let request = Request {
            method: Method::POST,
            url: self.node.clone(),
            headers,
            body: Some(body),
            timeout: Duration::from_secs(10),
        };
        self.client.send(request).await.unwrap().data()
    }

    /// Takes from the answer what is not to be seen yet.
    fn hide(&self, question: &Value, answer: &mut Value) {
        let result = &mut answer["result"];
        let hidden = match (question["method"].as_str().unwrap(), self.late) {
            ("eth_getTransactionReceipt", _) | ("eth_getTransactionByHash", Late::Transactions | Late::Blocks) => {
                Value::Null
            }
            ("eth_getBlockByNumber", Late::Blocks) if question["params"][0] != "latest" => {
                let mut block = result.clone();
                block["transactions"] = json!([]);
                block
            }
            _ => return,
        };
        let one_less = |left: usize| left.checked_sub(1);
        if self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
        {
            *result = hidden;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_counts_a_transaction_before_it_shows_it_makes_nobody_mint_twice() {
    let Some(world) = World::start() else { return };
    for late in [Late::Receipts, Late::Transactions, Late::Blocks] {
        let url = Lagging::start(&world.chain.url(), late, 12).await;
        let data = format!("{late:?}");
        let case = case(config(&data));
        let before = world.chain.count(ISSUER);
        let outcome = case.run(&runner_of(&options(&url, &world.contract))).await;
        assert_eq!(result(&outcome)["nonce"], json!(before), "{late:?}");
        assert_eq!(case.control.count(), 1, "{late:?}: one claim, never given up");
        assert_eq!(
            (world.minted(&data), world.chain.count(ISSUER)),
            (1, before + 1),
            "{late:?}"
        );
    }
}
