// Server-sent events over `fetch`, which can send a token; `EventSource` cannot.

export type ServerEvent = { event: string; data: string; id: string | null };

/** Turns pieces of text into events. Pieces may end anywhere. */
export class EventParser {
  private rest = '';
  private event = 'message';
  private data: string[] = [];
  private id: string | null = null;

  feed(piece: string): ServerEvent[] {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    return lines.flatMap(line => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === '') return this.dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id') this.id = value;
    return [];
  }

  private dispatch(): ServerEvent[] {
    const { event, data, id } = this;
    this.event = 'message';
    this.data = [];
    return data.length === 0 ? [] : [{ event, data: data.join('\n'), id }];
  }
}

/** The server answered, but gave no stream. */
export class StreamRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the stream answered with status ${status}`);
    this.status = status;
  }
}

export type StreamOptions = {
  headers: Record<string, string>;
  signal: AbortSignal;
  onOpen: () => void;
  onEvent: (event: ServerEvent) => void;
};

/** Reads a stream until it ends. Throws if it cannot be opened. */
export async function readStream(path: string, { headers, signal, onOpen, onEvent }: StreamOptions): Promise<void> {
  const response = await fetch(path, { headers: { Accept: 'text/event-stream', ...headers }, signal });
  if (!response.ok || !response.body) throw new StreamRefused(response.status);
  onOpen();
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of parser.feed(value)) onEvent(event);
  }
}
