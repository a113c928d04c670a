// The token of this tab. It lives as long as the tab, and is sent as a bearer token; there are no cookies.
const KEY = 'sprag.token';

export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

export function keepToken(value: string): void {
  sessionStorage.setItem(KEY, value);
}

export function dropToken(): void {
  sessionStorage.removeItem(KEY);
}

/** What every request of this tab shows. */
export function authorization(): Record<string, string> {
  const shown = token();
  return shown ? { Authorization: `Bearer ${shown}` } : {};
}
