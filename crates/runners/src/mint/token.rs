//! Which token a transaction minted, from what the contract logged.

use alloy_primitives::{Address, B256, U256, b256};

use super::node::{Log, Receipt};

/// `Transfer(address,address,uint256)` of ERC-721.
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// `TransferSingle(address,address,address,uint256,uint256)` of ERC-1155.
const TRANSFER_SINGLE: B256 = b256!("0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62");
const WORD: usize = 32;

/// The first token that `contract` says it made from nothing.
pub(super) fn id(receipt: &Receipt, contract: Address) -> Option<U256> {
    let mut own = receipt.logs.iter().filter(|log| log.address == contract);
    own.find_map(minted)
}

fn minted(log: &Log) -> Option<U256> {
    match log.topics.as_slice() {
        [TRANSFER, from, _, token] if from.is_zero() => Some(U256::from_be_bytes(token.0)),
        [TRANSFER_SINGLE, _, from, _] if from.is_zero() => {
            let word: [u8; WORD] = log.data.get(..WORD)?.try_into().ok()?;
            Some(U256::from_be_bytes(word))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Bytes, address};

    use super::*;

    const CONTRACT: Address = address!("0x00000000000000000000000000000000000000aa");

    fn of(logs: Vec<Log>) -> Option<U256> {
        let receipt = Receipt {
            hash: B256::ZERO,
            block: 1,
            succeeded: true,
            gas_used: 1,
            gas_price: 1,
            logs,
        };
        id(&receipt, CONTRACT)
    }

    fn log(address: Address, topics: Vec<B256>, data: Vec<u8>) -> Log {
        Log {
            address,
            topics,
            data: Bytes::from(data),
        }
    }

    #[test]
    fn a_token_is_what_this_contract_made_from_nothing() {
        let someone = B256::left_padding_from(&[7]);
        let token = B256::left_padding_from(&[42]);
        let made = vec![TRANSFER, B256::ZERO, someone, token];
        assert_eq!(of(vec![log(CONTRACT, made.clone(), vec![])]), Some(U256::from(42)));
        assert_eq!(of(vec![log(Address::ZERO, made, vec![])]), None);
        assert_eq!(
            of(vec![log(CONTRACT, vec![TRANSFER, someone, someone, token], vec![])]),
            None
        );
        let single = vec![TRANSFER_SINGLE, someone, B256::ZERO, someone];
        let data = [token.0, token.0].concat();
        assert_eq!(of(vec![log(CONTRACT, single.clone(), data)]), Some(U256::from(42)));
        assert_eq!(of(vec![log(CONTRACT, single, vec![1])]), None);
    }
}
