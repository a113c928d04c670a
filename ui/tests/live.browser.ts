// Live: changes arrive by themselves, one tab reads for all, a hidden tab is silent, a crash loses nothing.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, launch, open, settled } from './browser';
import { SpragServer, until } from './server';

const WAITING = `
id: waiting
initial: a
states:
  a: { on: { GO: b } }
  b: { on: { GO: a, END: c } }
  c: { type: final }
`;

/** Texts that would run, hide or turn the page, if they were anything but text. */
const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  "';alert(1)//",
  'javascript:alert(1)',
  '{{constructor.constructor("alert(1)")()}}',
  '</pre><iframe srcdoc="<script>alert(1)</script>">',
  '&lt;b&gt;not bold&lt;/b&gt;',
  '[link](javascript:alert(1))',
  '%3Cscript%3Ealert(1)%3C/script%3E',
];

describe.runIf(hasBrowser)('live', () => {
  let browser: Browser;
  let server: SpragServer;

  beforeAll(async () => {
    browser = await launch();
    server = await SpragServer.start();
    await server.ask('POST', '/v1/machines', WAITING);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });

  const start = (key: string) => server.ask<{ id: string }>('POST', '/v1/executions', { machine: 'waiting', key });
  const send = (id: string, type: string) => server.ask('POST', `/v1/executions/${id}/messages`, { type });
  const active = (page: Page) => page.locator('g[data-active="true"]').getAttribute('data-state');

  test('a change of an execution and a new row appear by themselves', async () => {
    const { id } = await start('live-1');
    const { context, page } = await open(browser, server.address);
    await page.goto(`/executions/${id}`);
    await page.locator('g[data-active="true"]').waitFor();
    await send(id, 'GO');
    await until('the new state is lit', async () => (await active(page)) === 'b');
    await page.getByText('Message GO → b').waitFor();
    await page.goto('/executions');
    await page.getByRole('link', { name: 'live-1' }).waitFor();
    await start('live-2');
    await page.getByRole('link', { name: 'live-2' }).waitFor();
    await context.close();
  });

  test('ten tabs have one stream, and all of them follow', async () => {
    const { id } = await start('ten-tabs');
    const { context, page, requests } = await open(browser, server.address);
    const tabs = [page];
    while (tabs.length < 10) tabs.push(await context.newPage());
    for (const tab of tabs) await tab.goto(`/executions/${id}`);
    for (const tab of tabs) await settled(tab);
    await send(id, 'GO');
    for (const tab of tabs) await until('every tab shows it', async () => (await active(tab)) === 'b');
    expect(requests.filter(url => url.endsWith('/v1/stream')).length).toBe(1);
    // The tab that reads goes; another takes its place.
    await tabs[0]?.close();
    await until('another tab reads', () => requests.filter(url => url.endsWith('/v1/stream')).length === 2);
    await send(id, 'GO');
    for (const tab of tabs.slice(1)) await until('every tab shows it', async () => (await active(tab)) === 'a');
    await context.close();
  });

  test('a hidden tab asks for nothing, and catches up when it is seen', async () => {
    const { id } = await start('hidden');
    const { context, page, requests } = await open(browser, server.address);
    await page.goto(`/executions/${id}`);
    await settled(page);
    const show = (isHidden: boolean) =>
      page.evaluate(hidden => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        Object.defineProperty(document, 'visibilityState', {
          configurable: true,
          get: () => (hidden ? 'hidden' : 'visible'),
        });
        document.dispatchEvent(new Event('visibilitychange'));
        window.dispatchEvent(new Event('visibilitychange'));
      }, isHidden);
    await show(true);
    const before = requests.length;
    for (let turn = 0; turn < 20; turn += 1) await send(id, 'GO');
    await send(id, 'GO');
    // Another tab shows that the hints were there to be heard.
    const other = await open(browser, server.address);
    await other.page.goto(`/executions/${id}`);
    await other.page.getByText('Message GO → b').first().waitFor();
    await other.context.close();
    expect(requests.length).toBe(before);
    await show(false);
    await until('the tab catches up', async () => (await active(page)) === 'b');
    await context.close();
  });

  test('under many changes a page asks at most a few times a second', async () => {
    const { context, page, requests } = await open(browser, server.address);
    await page.goto('/executions');
    await settled(page);
    const before = requests.length;
    const began = Date.now();
    for (let number = 0; number < 200; number += 1) await start(`many-${number}`);
    const seconds = (Date.now() - began) / 1_000;
    expect(requests.length - before).toBeLessThanOrEqual(2 * seconds + 6);
    await page.getByRole('link', { name: 'many-199' }).waitFor();
    expect(await page.locator('[data-row-link]').count()).toBeLessThanOrEqual(100);
    await context.close();
  });

  test('a killed server: the page says so, keeps its form, connects again, and sends once', async () => {
    const { id } = await start('killed');
    const { context, page } = await open(browser, server.address);
    await page.goto(`/executions/${id}`);
    await page.getByRole('button', { name: 'GO' }).click();
    await page.getByLabel('Payload, as JSON').fill('{"kept": true}');
    await server.kill();
    await page.getByText('The connection to the server is lost.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await server.run();
    await page.getByText('Handled. The active state is b.').waitFor();
    expect(await page.getByLabel('Payload, as JSON').inputValue()).toBe('{"kept": true}');
    await page.getByText('The connection to the server is lost.').waitFor({ state: 'detached' });
    const { data } = await server.ask<{ data: { cause: { type?: string } }[] }>('GET', `/v1/executions/${id}/history`);
    expect(data.filter(entry => entry.cause?.type === 'GO').length).toBe(1);
    await context.close();
  });

  test('hostile texts appear as they are, in every place', async () => {
    const machine = { id: 'hostile', description: HOSTILE.join(' '), initial: 'a', states: { a: { on: { GO: 'a' } } } };
    await server.ask('POST', '/v1/machines', JSON.stringify(machine));
    const { context, page, wrongs } = await open(browser, server.address);
    for (const text of HOSTILE) {
      const variables = { [text]: text };
      const { id } = await server.ask<{ id: string }>('POST', '/v1/executions', {
        machine: 'hostile',
        key: text,
        tags: [text],
        variables,
      });
      await server.ask('POST', `/v1/executions/${id}/messages`, { type: text, payload: text });
      await page.goto(`/executions/${id}`);
      await page.getByRole('heading', { name: text, exact: true }).waitFor();
      await page.getByText(`Message ${text}`).waitFor();
      await page
        .getByRole('region', { name: 'Variables' })
        .getByText(JSON.stringify(text).slice(1, -1))
        .first()
        .waitFor();
    }
    await page.goto('/machines');
    await page
      .getByText(HOSTILE[0] ?? '')
      .first()
      .waitFor();
    await page.goto('/executions?machine=hostile');
    await settled(page);
    for (const text of HOSTILE) await page.getByRole('link', { name: text, exact: true }).waitFor();
    await page.goto(`/executions?key=${encodeURIComponent(HOSTILE[0] ?? '')}`);
    await settled(page);
    expect(wrongs).toEqual([]);
    await context.close();
  });
});
