// What the servers of the tests hold: machines, dead letters that are alike, a plan that waits, services.
import { SpragServer, until } from './server';

/** Its action dies at once, and a longer timeout does not help: a person must decide. */
export const FAILING = `
id: billing
initial: charging
states:
  charging: { on: { done.charge: paid, failed.charge: stuck } }
  stuck: { on: { RETRY: charging, GIVE_UP: dropped, done.charge: paid } }
  paid: { type: final }
  dropped: { type: final }
actions:
  - actionId: charge
    type: fail
    triggerState: charging
    config: { type: not_found, message: "the card of {{execution.key}} is unknown" }
    retryPolicy: { maxAttempts: 1 }
`;

export const CATALOG = `
operation: cache.drain
title: Drain a cache node
kind: tool
riskLevel: high
parameters: { node: { type: string, required: true } }
action: { type: log_message, config: { message: "drain {{params.node}}" } }
`;

export const SERVICES = `
services:
  broker:
    command: [sh, -c, "echo broker is up; while :; do sleep 1; echo tick; done"]
  pipeline:
    command: [sh, -c, "sleep 100000"]
    dependsOn: { broker: started }
`;

type Execution = { id: string };

/** Starts executions of the failing machine, and waits until their actions are dead letters. */
export async function deadLetters(server: SpragServer, keys: string[], token?: string): Promise<string[]> {
  await server.ask('POST', '/v1/machines', FAILING, token);
  const ids: string[] = [];
  for (const key of keys) {
    const { id } = await server.ask<Execution>('POST', '/v1/executions', { machine: 'billing', key }, token);
    ids.push(id);
  }
  await until('all actions are dead', async () => {
    const { data } = await server.ask<{ data: unknown[] }>('GET', '/v1/dead-letters?machine=billing', undefined, token);
    return data.length >= keys.length;
  });
  return ids;
}

/** A server that asks for tokens and supervises services; and tokens for it. */
export async function guarded() {
  const server = await SpragServer.start({
    args: ['--auth', 'token', '--admin-token-file', 'admin', '--services', 'services.yaml'],
    files: { 'services.yaml': SERVICES },
  });
  const admin = await server.file('admin');
  const token = async (name: string, roles: string[]) =>
    (await server.ask<{ token: string }>('POST', '/v1/tokens', { name, roles }, admin)).token;
  const tokens = {
    admin,
    viewer: await token('vera', ['viewer']),
    proposer: await token('paul', ['proposer']),
    approver: await token('anna', ['approver']),
  };
  await server.ask('POST', '/v1/operations', CATALOG, admin);
  const proposal = { operation: 'cache.drain', params: { node: 'cache-1:6379' }, reason: 'kernel update' };
  const plan = await server.ask<{ id: string }>('POST', '/v1/workflows', proposal, tokens.proposer);
  return { server, tokens, plan: plan.id };
}
