// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.20;

/// A token for tests: what a minting client meets of ERC-721, and several ways to say no.
/// Whoever deploys it is the registrar. `compile.cjs` makes Diploma.json of it.
contract Diploma {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    error NotRegistrar(address caller);
    error Closed();

    struct Grade {
        string subject;
        uint8 points;
    }

    address private immutable registrar = msg.sender;
    uint256 public totalSupply;
    bool public closed;
    mapping(uint256 => address) public ownerOf;
    /// How many tokens carry the same data: a client that mints twice is found out.
    mapping(bytes32 => uint256) private issued;

    modifier open() {
        if (msg.sender != registrar) revert NotRegistrar(msg.sender);
        if (closed) revert Closed();
        _;
    }

    /// The parameters have the names that the mint action of the examples gives.
    function mint(address to, string calldata tokenURI, string calldata certificateData)
        external
        open
        returns (uint256 tokenId)
    {
        require(to != address(0), "no one to give it to");
        require(bytes(tokenURI).length > 0, "no description");
        issued[keccak256(bytes(certificateData))] += 1;
        return give(to);
    }

    /// The same for a fee, with parameters of more kinds.
    function mintGraded(address to, bytes32 digest, Grade[] calldata grades, int64 year, bool honours)
        external
        payable
        open
        returns (uint256 tokenId)
    {
        require(msg.value > 0 || !honours, "honours cost something");
        issued[keccak256(abi.encode(digest, grades, year))] += 1;
        return give(to);
    }

    function give(address to) private returns (uint256 tokenId) {
        tokenId = ++totalSupply;
        ownerOf[tokenId] = to;
        emit Transfer(address(0), to, tokenId);
    }

    /// From then on every mint reverts, until it is opened again.
    function close(bool now_) external {
        closed = now_;
    }

    function issuedFor(string calldata certificateData) external view returns (uint256) {
        return issued[keccak256(bytes(certificateData))];
    }
}
