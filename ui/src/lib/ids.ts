// What an id is about, by its first letters; and the page that shows it.

const PAGES: Record<string, (id: string) => string> = {
  exe: id => `/executions/${id}`,
  act: id => `/actions/${id}`,
  job: id => `/jobs/${id}`,
  wfl: id => `/approvals/${id}`,
  swi: () => '/settings/switches',
  tok: () => '/settings/tokens',
};

const ID = /^([a-z]{3})_[0-9a-z]{20,32}$/;

/** The page of an id, or nothing if the text is no id. */
export function pageOf(text: string): string | null {
  const kind = ID.exec(text)?.[1];
  return (kind && PAGES[kind]?.(text)) || null;
}
