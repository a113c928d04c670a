// Compiles Diploma.sol into Diploma.json. In a folder with the npm package solc: node <this file>
const fs = require('node:fs');
const path = require('node:path');
const solc = require(require.resolve('solc', { paths: [process.cwd()] }));

const source = fs.readFileSync(path.join(__dirname, 'Diploma.sol'), 'utf8');
const settings = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { Diploma: ['abi', 'evm.bytecode.object', 'evm.methodIdentifiers'] } },
};
const input = { language: 'Solidity', sources: { 'Diploma.sol': { content: source } }, settings };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const error of output.errors ?? []) console.error(error.formattedMessage);
if ((output.errors ?? []).some((error) => error.severity === 'error')) process.exit(1);
const { abi, evm } = output.contracts['Diploma.sol'].Diploma;
const made = { compiler: solc.version(), methods: evm.methodIdentifiers, abi, bytecode: '0x' + evm.bytecode.object };
fs.writeFileSync(path.join(__dirname, 'Diploma.json'), JSON.stringify(made, null, 1) + '\n');
