// Every page, in both themes and at every width: whole, without violations of the policy, and accessible.
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectNoSidewaysScroll, hasBrowser, launch, open, picture, settled } from './browser';
import type { SpragServer } from './server';
import { deadLetters, guarded } from './world';

const WIDTHS = [320, 768, 1280, 2560];

describe.runIf(hasBrowser)('pages', () => {
  let browser: Browser;
  let server: SpragServer;
  let token: string;
  let pages: [name: string, path: string][];

  beforeAll(async () => {
    browser = await launch();
    const world = await guarded();
    server = world.server;
    token = world.tokens.admin;
    const executions = await deadLetters(server, ['anna-1', 'ben-2', 'cleo-3'], token);
    const dead = await server.ask<{ data: { id: string }[] }>('GET', '/v1/dead-letters', undefined, token);
    const letter = dead.data[0]?.id ?? '';
    await server.ask(
      'POST',
      '/v1/kill-switches',
      { scope: 'machine:billing', reason: 'charges twice, INC-512' },
      token,
    );
    const retry = { filter: 'machine = "billing"', canary: 1 };
    const job = await server.ask<{ id: string }>('POST', '/v1/dead-letters/retry', retry, token);
    pages = [
      ['overview', '/'],
      ['executions', '/executions'],
      ['executions-none', '/executions?key=unknown'],
      ['execution', `/executions/${executions[0]}`],
      ['execution-past', `/executions/${executions[0]}?entry=1`],
      ['execution-unknown', '/executions/exe_01m7ts4jx5zyvsjnhzf5p8gfv3'],
      ['machines', '/machines'],
      ['machine', '/machines/billing'],
      ['machine-source', '/machines/billing?tab=source'],
      ['machine-simulate', '/machines/billing?tab=simulate'],
      ['machine-versions', '/machines/billing?tab=versions'],
      ['machine-new', '/machines/new'],
      ['actions', '/actions'],
      ['action', `/actions/${letter}`],
      ['queues', '/actions/queue'],
      ['health', '/actions/health'],
      ['dead-letters', '/dead-letters'],
      ['dead-letter', `/dead-letters/${letter}`],
      ['jobs', '/jobs'],
      ['job', `/jobs/${job.id}`],
      ['approvals', '/approvals'],
      ['approval', `/approvals/${world.plan}`],
      ['supervision', '/supervision'],
      ['service', '/supervision/broker'],
      ['cluster', '/cluster'],
      ['audit', '/audit'],
      ['settings', '/settings/display'],
      ['switches', '/settings/switches'],
      ['limits', '/settings/limits'],
      ['tokens', '/settings/tokens'],
      ['help', '/help/role-missing'],
      ['no-page', '/nothing/here'],
    ];
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  async function signedIn(theme: 'light' | 'dark') {
    const watched = await open(browser, server.address, { colorScheme: theme });
    // Frames that the accessibility check opens have no storage.
    await watched.context.addInitScript(value => {
      if (location.origin !== 'null') sessionStorage.setItem('sprag.token', value);
    }, token);
    return watched;
  }

  test.each(['light', 'dark'] as const)('every page is whole and accessible in the %s theme', async theme => {
    const { context, page, wrongs } = await signedIn(theme);
    const found: string[] = [];
    for (const [name, path] of pages) {
      await page.goto(path);
      await settled(page);
      await picture(page, `${name}-${theme}`);
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const one of violations)
        found.push(`${name}: ${one.id}: ${one.nodes.map(node => node.html.slice(0, 160)).join(' | ')}`);
    }
    expect(found).toEqual([]);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test('no page scrolls sideways, from a telephone to a wall', async () => {
    const { context, page, wrongs } = await signedIn('light');
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      for (const [name, path] of pages) {
        await page.goto(path);
        await settled(page);
        await expectNoSidewaysScroll(page, `${name} at ${width}`);
        if (width !== 1280) await picture(page, `${name}-${width}`);
      }
    }
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
