// A browser that notes everything that must never happen: violations of the policy, errors, requests to elsewhere.
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PICTURES = fileURLToPath(new URL('../../target/ui/', import.meta.url));

export const hasBrowser = existsSync(CHROMIUM);
if (!hasBrowser) process.stdout.write('skipped: there is no Chromium\n');

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
}

export type Watched = { context: BrowserContext; page: Page; wrongs: string[]; requests: string[] };

/** A page at the address of a server. Wrongs of all its tabs are noted. */
export async function open(browser: Browser, base: string, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: base,
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const wrongs: string[] = [];
  const requests: string[] = [];
  await context.exposeFunction('noteWrong', (text: string) => wrongs.push(text));
  await context.addInitScript(() => {
    const note = (text: string) => (window as unknown as { noteWrong: (text: string) => void }).noteWrong(text);
    document.addEventListener('securitypolicyviolation', event =>
      note(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`),
    );
    window.alert = () => note('a script of the data ran');
  });
  context.on('page', page => {
    page.on('pageerror', error => wrongs.push(`error: ${error.message}`));
    page.on('console', message => {
      // The browser reports refused requests by itself; the page shows them.
      const isReport = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isReport) wrongs.push(`console: ${message.text()}`);
    });
    page.on('request', request => {
      requests.push(request.url());
      if (!request.url().startsWith(base) && !request.url().startsWith('blob:'))
        wrongs.push(`foreign: ${request.url()}`);
    });
  });
  const page = await context.newPage();
  return { context, page, wrongs, requests };
}

/** Waits until the page shows its data. */
export async function settled(page: Page): Promise<void> {
  // On a narrow screen a record hides the list behind it, with its heading.
  await page.locator('h1:visible').first().waitFor();
  await page.locator('[aria-label="Loading"]').first().waitFor({ state: 'detached' });
  await page.evaluate(() => document.fonts.ready);
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}${name}.png` });
}

/** Nothing is wider than the screen. */
export async function expectNoSidewaysScroll(page: Page, what: string): Promise<void> {
  const [content = 0, screen = 0] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  const main = await page.evaluate(() => {
    const element = document.getElementById('main');
    return element ? element.scrollWidth - element.clientWidth : 0;
  });
  expect(content, what).toBeLessThanOrEqual(screen);
  expect(main, what).toBeLessThanOrEqual(0);
}
