// What people come for: a first machine, an outage retried, a plan approved, a switch set and released, a service restarted.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, launch, open, picture, settled } from './browser';
import { SpragServer, until } from './server';
import { deadLetters, guarded } from './world';

async function dead(server: SpragServer): Promise<{ id: string }[]> {
  return (await server.ask<{ data: { id: string }[] }>('GET', '/v1/dead-letters')).data;
}

describe.runIf(hasBrowser)('journeys on a server of one person', () => {
  let browser: Browser;
  let server: SpragServer;

  beforeAll(async () => {
    browser = await launch();
    server = await SpragServer.start();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  test('an empty server leads to a first machine: written, checked, simulated, applied, started, and finished', async () => {
    const { context, page, wrongs } = await open(browser, server.address);
    await page.goto('/');
    await page.getByRole('heading', { name: 'Welcome to Sprag' }).waitFor();
    await picture(page, 'first-visit-light');
    await page.getByRole('link', { name: 'Write your first machine' }).click();
    const editor = page.locator('.cm-content');
    await editor.waitFor();
    await page.getByText('No errors').waitFor();

    // A fault is found while it is written, with its line.
    await editor.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('unknown: 1');
    await page.getByRole('list', { name: 'Findings' }).getByText('line 19').waitFor();
    expect(await page.getByRole('button', { name: 'Apply' }).getAttribute('aria-disabled')).toBe('true');
    for (let press = 0; press < 'unknown: 1'.length; press += 1) await page.keyboard.press('Backspace');
    await page.getByText('No errors').waitFor();

    await page.getByRole('button', { name: 'CONFIRM' }).click();
    await page.getByRole('button', { name: 'ship succeeds' }).click();
    await page.getByText('The execution is completed.').waitFor();

    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Applied as version 1.').waitFor();
    await page.getByRole('button', { name: 'Start an execution' }).click();
    await page.getByLabel('Key, if it has one').fill('first');
    await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'first', exact: true }).waitFor();

    await page.getByRole('button', { name: 'CONFIRM' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.getByText('Handled. The active state is').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
    // The page follows by itself: nothing is reloaded.
    await page.getByText('completed').first().waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test('from the worst problem to all alike retried: two clicks to the cause, four to the job', async () => {
    await deadLetters(server, ['o-1', 'o-2', 'o-3']);
    const { context, page, wrongs } = await open(browser, server.address);
    await page.goto('/');
    await page.getByRole('link', { name: '3 dead letters of billing/charge' }).click();
    await page.getByText('the card of').first().waitFor();
    await page.getByText('2 other dead letters have the same cause.').waitFor();
    await page.getByRole('button', { name: 'Retry all alike' }).click();
    // What dies after the preview is not part of it.
    const dialog = page.getByRole('dialog');
    await dialog.getByText('diedAt <=').waitFor();
    await dialog.getByText('dead letters, for example:').waitFor();
    await deadLetters(server, ['o-4']);
    await until('a fourth is dead', async () => (await dead(server)).length === 4);
    await picture(page, 'retry-all-light');
    await dialog.getByRole('button', { name: 'Retry 3 as a job' }).click();
    await page.getByRole('heading', { name: 'Retry dead letters' }).waitFor();
    expect(page.url()).toContain('/jobs/job_');
    // The canary dies again, so the job pauses and says so.
    await page.getByRole('region', { name: 'Details' }).getByText('paused').first().waitFor();
    const { counts } = await server.ask<{ counts: { matched: number } }>(
      'GET',
      `/v1/jobs/${page.url().split('/').pop()}`,
    );
    expect(counts.matched).toBeLessThanOrEqual(3);
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test('a dead letter is edited: what changes is shown, and only that is sent', async () => {
    const { context, page } = await open(browser, server.address);
    const [letter] = await dead(server);
    await page.goto(`/dead-letters/${letter?.id}`);
    await page.getByRole('button', { name: 'Edit and retry' }).click();
    const text = page.getByRole('dialog').getByRole('textbox');
    await text.fill((await text.inputValue()).replace('"timeout": 300000', '"timeout": 60000'));
    await page.getByRole('region', { name: 'What changes' }).getByText('"timeout": 60000').waitFor();
    const sent = page.waitForRequest(request => request.url().endsWith('/retry') && request.method() === 'POST');
    await page.getByRole('button', { name: 'Retry with these changes' }).click();
    expect((await sent).postDataJSON()).toEqual({ patch: [{ op: 'replace', path: '/timeout', value: 60_000 }] });
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await context.close();
  });

  test('an execution is paused with one click and resumed with another; cancelling asks first', async () => {
    const { id } = await server.ask<{ id: string }>('POST', '/v1/executions', {
      machine: 'first-order',
      key: 'pausing',
    });
    const { context, page } = await open(browser, server.address);
    await page.goto(`/executions/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByLabel('Reason, for the audit').fill('ordered twice, Grüße');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('cancelled').first().waitFor();
    await page.goto('/audit');
    await page.getByText('ordered twice, Grüße').waitFor();
    await context.close();
  });

  test('a switch is set and released, and says what it holds', async () => {
    const { context, page, wrongs } = await open(browser, server.address);
    await page.goto('/settings/switches');
    await page.getByRole('button', { name: 'Stop effects' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('biling');
    await dialog.getByLabel('Reason').fill('INC-512');
    await dialog.getByRole('button', { name: 'Stop machine:biling' }).click();
    // A misspelled name would look as if it worked: the server suggests the right one.
    await dialog.getByRole('alert').getByText('billing').first().waitFor();
    await dialog.getByLabel('Name').fill('billing');
    await dialog.getByRole('button', { name: 'Stop machine:billing' }).click();
    await page.getByText('effective').waitFor();
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
    await page.getByText('No switch is on.').waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test('keys alone: a page by g and a letter, a row by j and Enter, an id and a key by the box; letters in a box are text', async () => {
    const { id } = await server.ask<{ id: string }>('POST', '/v1/executions', {
      machine: 'first-order',
      key: 'by-keys',
    });
    const { context, page } = await open(browser, server.address);
    await page.goto('/');
    await settled(page);
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    await page.getByRole('link', { name: 'by-keys' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by-keys' }).waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('g d');
    expect(await page.getByRole('combobox', { name: /Search/ }).inputValue()).toBe('g d');
    await page.keyboard.press('Control+a');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/executions/${id}`);
    await page.goto('/');
    await settled(page);
    await page.keyboard.press('/');
    await page.keyboard.type('by-keys');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/executions/${id}`);

    await page.locator('body').click({ position: { x: 900, y: 600 } });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await context.close();
  });

  test('filter, entry and tab are in the address, and survive a reload in a fresh profile', async () => {
    const { data } = await server.ask<{ data: { id: string }[] }>('GET', '/v1/executions?key=first');
    const first = await open(browser, server.address);
    await first.page.goto('/executions');
    await first.page.getByLabel('Status').selectOption('completed');
    await first.page.getByRole('link', { name: 'first' }).click();
    await first.page.getByRole('button', { name: /Started/ }).click();
    await first.page.waitForURL('**entry=1');
    const address = first.page.url();
    await first.page.goBack();
    await first.context.close();

    const second = await open(browser, server.address);
    await second.page.goto(address);
    await second.page.getByRole('heading', { name: 'States after entry 1' }).waitFor();
    expect(await second.page.locator('g[data-active="true"]').getAttribute('data-state')).toBe('waiting');
    expect(address).toContain(data[0]?.id);
    await second.context.close();
  });
});

describe.runIf(hasBrowser)('journeys on a server that asks for tokens', () => {
  let browser: Browser;
  let world: Awaited<ReturnType<typeof guarded>>;

  beforeAll(async () => {
    browser = await launch();
    world = await guarded();
  });

  afterAll(async () => {
    await browser?.close();
    await world?.server.stop();
  });

  async function signIn(page: Page, token: string): Promise<void> {
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(token);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  test('the page asks for a token, refuses a wrong one, and forgets it with the tab', async () => {
    const { context, page } = await open(browser, world.server.address);
    await page.goto('/executions');
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill('sprag_wrong');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByRole('alert').waitFor();
    await picture(page, 'sign-in-light');
    await signIn(page, world.tokens.viewer);
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    const other = await context.newPage();
    await other.goto('/executions');
    await other.getByRole('dialog', { name: 'Sign in' }).waitFor();
    await context.close();
  });

  test('a viewer sees what is refused, and which role it needs', async () => {
    const { context, page } = await open(browser, world.server.address);
    await page.goto('/executions');
    await signIn(page, world.tokens.viewer);
    const start = page.getByRole('button', { name: 'Start' });
    await start.waitFor();
    expect(await start.getAttribute('aria-disabled')).toBe('true');
    expect(await start.getAttribute('title')).toBe('Needs the role operator.');
    await start.click({ force: true });
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.goto('/settings/tokens');
    await page.getByText('Your token may not see this.').waitFor();
    await context.close();
  });

  test('a plan is approved by its digest, with a comment, and runs', async () => {
    const { context, page, wrongs } = await open(browser, world.server.address);
    await page.goto('/approvals');
    await signIn(page, world.tokens.approver);
    await page.getByRole('link', { name: 'cache.drain' }).click();
    await page.getByText('cache-1:6379').first().waitFor();
    await page.getByLabel('Comment').fill('checked with the cache team');
    const sent = page.waitForRequest(request => request.url().endsWith('/approve'));
    await page.getByRole('button', { name: 'Approve this plan' }).click();
    const { digest } = await world.server.ask<{ digest: string }>(
      'GET',
      `/v1/workflows/${world.plan}/plan`,
      undefined,
      world.tokens.viewer,
    );
    expect((await sent).postDataJSON()).toEqual({ digest, comment: 'checked with the cache team' });
    await page.getByRole('region', { name: 'Details' }).getByText('completed').first().waitFor();
    expect(wrongs).toEqual([]);
    await context.close();
  });

  test('a service is restarted, and its log is followed', async () => {
    const { context, page } = await open(browser, world.server.address);
    await page.goto('/supervision');
    await signIn(page, world.tokens.admin);
    await page.getByRole('link', { name: 'broker' }).click();
    await page.getByRole('log').getByText('broker is up').waitFor();
    const before = await world.server.ask<{ data: { path: string; pid: number }[] }>(
      'GET',
      '/v1/workers',
      undefined,
      world.tokens.admin,
    );
    await page.getByRole('button', { name: 'Restart' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    const pid = before.data.find(one => one.path === 'broker')?.pid;
    await until('the broker has another process', async () => {
      const { data } = await world.server.ask<typeof before>('GET', '/v1/workers', undefined, world.tokens.admin);
      const now = data.find(one => one.path === 'broker')?.pid;
      return now !== undefined && now !== null && now !== pid;
    });
    await context.close();
  });
});
